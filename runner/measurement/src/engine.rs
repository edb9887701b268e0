//! Arguments that select the engine.

use std::path::PathBuf;

use foreglow_engine::spark::{Master, Settings, Spark};
use foreglow_engine::sweep::{Run, by_configuration};
use foreglow_engine::{Command, Engine, Job, Local};
use foreglow_exit::unusable;
use foreglow_shared::Workload;

use crate::workload::WorkloadArgs;

/// The engine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Engine that runs the executors: processes on this machine, or an Apache Spark cluster
    /// [default: local; spark with --master]
    #[arg(long, value_enum)]
    engine: Option<Kind>,

    /// Master of the Spark cluster: spark://HOST:PORT, yarn, or k8s://URL
    #[arg(long, value_name = "URL", required_if_eq("engine", "spark"))]
    master: Option<Master>,

    /// Web UI of a standalone master, for the capacity check; none to skip the check [default: port
    /// 8080 of the master]
    #[arg(long, value_name = "URL", requires = "master")]
    master_ui: Option<String>,

    /// Spark's folder [default: SPARK_HOME, or that of spark-submit or of the Python package
    /// pyspark]
    #[arg(long, value_name = "DIR", requires = "master")]
    spark_home: Option<PathBuf>,

    /// Additional Spark property, such as spark.yarn.queue=research; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "master", value_parser = property)]
    spark_conf: Vec<(String, String)>,

    /// Path of foreglow on the workers [default: Spark ships it]
    #[arg(long, value_name = "PATH", requires = "master")]
    worker_program: Option<PathBuf>,

    /// Folder in which to keep Spark's event logs
    #[arg(long, value_name = "DIR", requires = "master")]
    event_logs: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Local,
    Spark,
}

impl EngineArgs {
    /// Returns the job for the machines of this engine, with every combination of image size and
    /// batch size.
    ///
    /// # Errors
    /// An argument is invalid, or the machines of a cluster cannot access the images.
    pub fn job_and_workloads(&self, workload: &WorkloadArgs) -> anyhow::Result<(Job, Vec<Workload>)> {
        let Some(master) = self.spark_master() else { return workload.job_and_workloads() };
        let (job, workloads) = workload.job_and_workloads_on_cluster()?;
        let only_here = job.source.drawing().is_some() && workload.cache_dir.is_none();
        if only_here && !master.is_loopback() {
            let noun = job.source.noun();
            return Err(unusable(format!(
                "the generated {noun} are on this machine only; give --data, or a --cache-dir that every worker has \
                at the same path"
            )));
        }
        Ok((job, workloads))
    }

    /// Creates the engine.
    ///
    /// # Errors
    /// Spark or Java is missing.
    pub fn engine(&self, job: &Job) -> anyhow::Result<Box<dyn Engine>> {
        let Some(master) = self.spark_master() else {
            return Ok(if job.program.is_some() { Box::new(Command::default()) } else { Box::new(Local) });
        };
        if job.program.is_some() {
            return Err(unusable(
                "your own program runs on this machine, or starts others itself; leave --engine spark and --master out",
            ));
        }
        let spark = Spark::new(Settings {
            master: master.clone(),
            home: self.spark_home.clone(),
            ui: self.master_ui.clone(),
            properties: self.spark_conf.clone(),
            program: self.worker_program.clone(),
            event_logs: self.event_logs.clone(),
        })?;
        Ok(Box::new(spark))
    }

    /// Checks that no master is given for processes on this machine.
    ///
    /// # Errors
    /// Both options are given.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.engine == Some(Kind::Local) && self.master.is_some() {
            return Err(unusable("--engine local has no --master; leave one of the two out"));
        }
        Ok(())
    }

    /// Returns the runs in the order that costs least, because starting a Spark application takes
    /// longer than many runs. If the sweep may end early (`has_limit`), one run of each combination
    /// comes first.
    pub fn order(&self, runs: Vec<Run>, has_limit: bool) -> Vec<Run> {
        if self.master.is_none() {
            return runs;
        }
        let (first, repeats) = runs.into_iter().partition(|run| run.repetition == 0 || !has_limit);
        [by_configuration(first), by_configuration(repeats)].concat()
    }

    fn spark_master(&self) -> Option<&Master> {
        self.master.as_ref()
    }
}

fn property(text: &str) -> Result<(String, String), String> {
    let wrong = || "write a property of Spark as KEY=VALUE, such as spark.yarn.queue=research".to_owned();
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    if !key.starts_with("spark.") {
        return Err(wrong());
    }
    Ok((key.trim().to_owned(), value.to_owned()))
}
