//! The Spark engine: an existing cluster runs the executors, schedules their partitions and moves the data.
//!
//! One application for each configuration; it stays until a run asks for another one. In it a job that is not timed warms
//! every executor up, and the next one is timed. What ran stands in Spark's event log: it is held against what was asked,
//! and the completion time is the log's own.

mod application;
mod capacity;
mod installation;
mod master;
mod results;
mod rounds;
mod run;
mod submission;
mod what_ran;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_shared::{Configuration, Host, Outcome, Sample, Workload};
use rust_embed::RustEmbed;

use self::application::Application;
use self::capacity::Cluster;
pub use self::master::Master;
use self::run::{Run, Stop};
use self::submission::{OF_MACHINES, Submission, resources};
use super::{Job, Progress};
use crate::exit::unusable;
use crate::interrupt::{Interrupt, Interrupted};

/// Where a standalone master shows its page by default.
const UI_PORT: u16 = 8080;
/// In the place of a page's address: the capacity is not checked.
const NO_UI: &str = "none";
const JAR: &str = "foreglow-spark.jar";

/// The driver, which the build compiles where it finds a JDK and Spark. A folder that is not there embeds nothing.
#[derive(RustEmbed)]
#[folder = "../target/spark"]
#[allow_missing = true]
struct Driver;

/// What a person says about a cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cluster.
    pub master: Master,
    /// Spark's folder; `None` looks for it.
    pub home: Option<PathBuf>,
    /// Address of a standalone master's page, or `none`; `None` is port 8080 of the master.
    pub ui: Option<String>,
    /// More of Spark's properties.
    pub properties: Vec<(String, String)>,
    /// Path of `foreglow` on the workers; `None` sends this program there.
    pub program: Option<PathBuf>,
    /// Folder that keeps the event logs; `None` keeps none.
    pub event_logs: Option<PathBuf>,
}

/// A cluster that is ready to be asked.
pub struct Spark {
    settings: Settings,
    home: PathBuf,
    event_logs: PathBuf,
    jar: PathBuf,
    /// This program, where Spark sends it to the workers.
    shipped: Option<PathBuf>,
    running: Option<Running>,
    /// Holds the jar, and the event logs where nobody keeps them.
    _folder: tempfile::TempDir,
}

/// An application whose executors are warm, once it has run a job.
struct Running {
    application: Application,
    configuration: Configuration,
    workload: Workload,
    id: String,
    version: String,
    /// Name of the processors that its executors have, where they know it and the person did not say it.
    cpu: Option<String>,
}

impl Spark {
    /// Finds Spark and Java and makes the driver ready; asks the cluster for nothing yet.
    ///
    /// # Errors
    /// Spark or Java is missing, or this program was built without the driver.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        let driver = Driver::get(JAR).ok_or_else(|| {
            unusable(
                "this foreglow was built without its Spark driver: in the repository, ./setup.sh spark installs a JDK and Spark, \
                 and make build builds it in",
            )
        })?;
        let home = installation::find(settings.home.as_deref())?;
        let folder = tempfile::Builder::new().prefix("foreglow-spark-").tempdir()?;
        let jar = folder.path().join(JAR);
        std::fs::write(&jar, &driver.data).with_context(|| format!("{} could not be written", jar.display()))?;
        let event_logs = match &settings.event_logs {
            Some(kept) => std::path::absolute(kept)?,
            None => folder.path().join("event-logs"),
        };
        std::fs::create_dir_all(&event_logs)
            .with_context(|| format!("the folder {} could not be made", event_logs.display()))?;
        let shipped = match &settings.program {
            Some(_) => None,
            None => Some(under_its_name(folder.path())?),
        };
        Ok(Self { settings, home, event_logs, jar, shipped, running: None, _folder: folder })
    }

    /// Checks, before anything is submitted, that these configurations can run.
    ///
    /// # Errors
    /// The cluster is too small for one of them, or a property is Foreglow's to set.
    pub fn check<'a>(
        &self,
        job: &Job,
        configurations: impl IntoIterator<Item = &'a Configuration>,
    ) -> anyhow::Result<()> {
        let ui = self.ui();
        let cluster = match &ui {
            Some(ui) => Some(Cluster::of(ui).map_err(|error| unusable(format!("{error:#}")))?),
            None => None,
        };
        for configuration in configurations {
            if let Some(key) = self.submission().taken(job, configuration) {
                return Err(unusable(format!("{key} is Foreglow's to set; leave it out of --spark-conf")));
            }
            if let Some(Err(shortage)) = cluster.as_ref().map(|cluster| cluster.check(resources(configuration))) {
                return Err(unusable(shortage.to_string()));
            }
        }
        Ok(())
    }

    /// What the person says of the cluster's machines.
    fn host(&self) -> Host {
        let said = OF_MACHINES.map(|label| {
            let property = self.settings.properties.iter().rfind(|(key, _)| key == label);
            property.map(|(_, value)| value.clone())
        });
        let [cpu, adapter] = said;
        Host { cpu, adapter, ..Host::default() }
    }

    /// Whether a sample's machines may be those of this cluster: they are what the person says of them. Which processors they
    /// have is known only once executors run.
    pub fn may_be(&self, host: &Host) -> bool {
        let mut said = self.host();
        said.cpu = said.cpu.or_else(|| host.cpu.clone());
        said == *host
    }

    /// Runs the job once; see [`super::Engine::measure`].
    pub fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        let mut run = Run::new(job, configuration, sampling_rate, self.host(), (interrupt, progress));
        match run.execute(self) {
            Ok(secs) => Ok(run.sample(Outcome::Completed, Some(secs), None)),
            Err(stop) => {
                // An application that has failed once is not asked again.
                self.running = None;
                match stop {
                    Stop::Interrupted => Err(Interrupted::default().into()),
                    Stop::Ended(outcome, secs, reason) => Ok(run.sample(outcome, secs, Some(reason))),
                }
            }
        }
    }

    fn submission(&self) -> Submission<'_> {
        Submission {
            master: &self.settings.master,
            properties: &self.settings.properties,
            jar: &self.jar,
            event_logs: &self.event_logs,
            shipped: self.shipped.as_deref(),
            program: self.settings.program.as_deref(),
        }
    }

    /// Address of the page of a standalone master, if the capacity is to be checked there.
    fn ui(&self) -> Option<String> {
        let host = self.settings.master.host()?;
        let ui = self.settings.ui.clone().unwrap_or_else(|| format!("http://{host}:{UI_PORT}"));
        (ui != NO_UI).then_some(ui)
    }
}

/// This program under the name by which the workers find it, whatever its file is called.
fn under_its_name(folder: &Path) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let named = folder.join("foreglow");
    std::fs::hard_link(&program, &named)
        .or_else(|_| std::fs::copy(&program, &named).map(drop))
        .with_context(|| format!("{} could not be copied to {}", program.display(), named.display()))?;
    Ok(named)
}
