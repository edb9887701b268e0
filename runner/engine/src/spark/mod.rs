//! The Spark engine: an existing cluster runs the executors and schedules their partitions.
//!
//! One application per configuration stays alive until a run needs another one. In it, an untimed
//! job warms up every executor, and the next job is timed. Spark's event log is compared with the
//! requested configuration, and the completion time is taken from it.

mod application;
mod capacity;
mod installation;
mod master;
mod results;
mod rounds;
mod run;
mod stop;
mod submission;
mod what_ran;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_data::true_rate;
use foreglow_exit::{Interrupt, Interrupted, Temporary, unusable};
use foreglow_shared::{Configuration, Engine as EngineName, Host, Outcome, Resources, Sample, Workload};
use rust_embed::RustEmbed;

use self::application::Application;
use self::capacity::Cluster;
pub use self::master::Master;
use self::run::Run;
use self::stop::Stop;
use self::submission::{OF_MACHINES, Submission};
use super::{Engine, Job, Progress};

/// Default port of a standalone master's web UI.
const UI_PORT: u16 = 8080;
/// Value of `--master-ui` that disables the capacity check.
const NO_UI: &str = "none";
const JAR: &str = "foreglow-spark.jar";

/// The driver, compiled by the build if there is a JDK and Spark. A missing folder embeds nothing.
#[derive(RustEmbed)]
#[folder = "../../target/spark"]
#[allow_missing = true]
struct Driver;

/// User settings for a cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Master of the cluster.
    pub master: Master,
    /// Spark's folder; `None` to search for it.
    pub home: Option<PathBuf>,
    /// URL of a standalone master's web UI, or `none`; `None` for port 8080 of the master.
    pub ui: Option<String>,
    /// Additional Spark properties.
    pub properties: Vec<(String, String)>,
    /// Path of `foreglow` on the workers; `None` to ship this program.
    pub program: Option<PathBuf>,
    /// Folder in which to keep the event logs; `None` to delete them.
    pub event_logs: Option<PathBuf>,
}

/// A cluster ready for runs.
pub struct Spark {
    settings: Settings,
    home: PathBuf,
    event_logs: PathBuf,
    jar: PathBuf,
    /// This program, if Spark ships it to the workers.
    shipped: Option<PathBuf>,
    running: Option<Running>,
    /// Holds the jar, and the event logs if they are not kept.
    _folder: Temporary,
}

/// An application, with warm executors after its first job.
struct Running {
    application: Application,
    configuration: Configuration,
    workload: Workload,
    id: String,
    version: String,
    /// CPU model of its executors, if they report it and the user did not set it.
    cpu: Option<String>,
}

impl Engine for Spark {
    fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        job.check_paths()?;
        let sampling_rate = true_rate(job.workload.images, sampling_rate);
        let mut run = Run::new(job, configuration, sampling_rate, self.host(job), (interrupt, progress));
        match run.execute(self) {
            Ok(secs) => Ok(run.sample(Outcome::Completed, Some(secs), None)),
            Err(stop) => {
                // A failed application is not reused.
                self.running = None;
                match stop {
                    Stop::Interrupted => Err(Interrupted::default().into()),
                    Stop::Ended(outcome, secs, reason) => Ok(run.sample(outcome, secs, Some(reason))),
                }
            }
        }
    }

    /// Compares the machines by the user's settings. The CPU model may be unknown until executors
    /// run.
    fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        let mut said = self.host(job);
        said.cpu = said.cpu.or_else(|| sample.host.cpu.clone());
        said.adapter = said.adapter.or_else(|| sample.host.adapter.clone());
        sample.engine == EngineName::Spark && said == sample.host
    }

    fn processors(&self, _: &Job) -> Option<u32> {
        None
    }

    fn is_cluster(&self) -> bool {
        true
    }

    /// Fails if the cluster is too small for a configuration, or a property is reserved for
    /// Foreglow.
    fn check(&self, job: &Job, configurations: &[&Configuration]) -> anyhow::Result<()> {
        let ui = self.ui();
        let cluster = match &ui {
            Some(ui) => Some(Cluster::of(ui).map_err(|error| unusable(format!("{error:#}")))?),
            None => None,
        };
        for configuration in configurations {
            if let Some(key) = self.submission().taken(job, configuration) {
                return Err(unusable(format!("{key} is set by Foreglow; leave it out of --spark-conf")));
            }
            if let Some(Err(shortage)) =
                cluster.as_ref().map(|cluster| cluster.check(Resources::from_configuration(configuration)))
            {
                return Err(unusable(shortage.to_string()));
            }
        }
        Ok(())
    }
}

impl Spark {
    /// Finds Spark and Java and unpacks the driver, without contacting the cluster.
    ///
    /// # Errors
    /// Spark or Java is missing, or this program was built without the driver.
    pub fn new(settings: Settings) -> anyhow::Result<Self> {
        let driver = Driver::get(JAR).ok_or_else(|| {
            unusable(
                "this foreglow was built without its Spark driver: in the repository, run ./setup.sh spark, which \
                installs a JDK and Spark, and make build",
            )
        })?;
        let home = installation::find(settings.home.as_deref())?;
        let folder = Temporary::folder()?;
        let jar = folder.path().join(JAR);
        std::fs::write(&jar, &driver.data).with_context(|| format!("{} could not be written", jar.display()))?;
        let event_logs = match &settings.event_logs {
            Some(kept) => std::path::absolute(kept)?,
            None => folder.path().join("event-logs"),
        };
        std::fs::create_dir_all(&event_logs)
            .with_context(|| format!("the folder {} could not be created", event_logs.display()))?;
        let shipped = match &settings.program {
            Some(_) => None,
            None => Some(under_its_name(folder.path())?),
        };
        Ok(Self { settings, home, event_logs, jar, shipped, running: None, _folder: folder })
    }

    /// Returns the machine as described by the user's settings.
    fn host(&self, job: &Job) -> Host {
        let said = OF_MACHINES.map(|label| {
            let property = self.settings.properties.iter().rfind(|(key, _)| key == label);
            property.map(|(_, value)| value.clone())
        });
        let [cpu, adapter] = said;
        Host { cpu, adapter, machine: job.machine_type.clone(), ..Host::default() }
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

    /// Returns the URL of the standalone master's web UI, unless the capacity check is disabled.
    fn ui(&self) -> Option<String> {
        let host = self.settings.master.host()?;
        let ui = self.settings.ui.clone().unwrap_or_else(|| format!("http://{host}:{UI_PORT}"));
        (ui != NO_UI).then_some(ui)
    }
}

/// Copies this program to the file name that the workers expect.
fn under_its_name(folder: &Path) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let named = folder.join("foreglow");
    std::fs::hard_link(&program, &named)
        .or_else(|_| std::fs::copy(&program, &named).map(drop))
        .with_context(|| format!("{} could not be copied to {}", program.display(), named.display()))?;
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other files in the folder would be embedded in every binary.
    #[test]
    fn only_the_driver_is_embedded() {
        let others: Vec<_> = Driver::iter().filter(|name| name != JAR).collect();
        assert!(others.is_empty(), "target/spark holds {others:?}");
    }
}
