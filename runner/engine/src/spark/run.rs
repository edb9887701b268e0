//! A run of a job in an application.

use std::path::Path;
use std::time::{Duration, Instant};

use foreglow_data::images_in_sample;
use foreglow_exit::Interrupt;
use foreglow_protocol::{Assignment, BrokenImage, Evaluation, mini_batches};
use foreglow_shared::{Configuration, Engine, Host, Outcome, Resources, SCHEMA, Sample, Timestamp, Uuid};
use serde_json::{Map, Value, json};

use super::application::{Application, Line, Request, Task};
use super::capacity::Cluster;
use super::results::Results;
use super::rounds::{Rounds, averaging};
use super::stop::{Stop, failed, failed_or_out_of_memory};
use super::what_ran::{completion_time, read_log, timed_run};
use super::{Job, Progress, Running, Spark};

/// Start-up timeout of the executors; a cluster may have to pull an image first.
const LONGEST_STARTUP: Duration = Duration::from_secs(900);
/// Time limit for the master to release the resources of an ended application.
const LONGEST_RELEASE: Duration = Duration::from_secs(60);
/// Limit on the delay of the event log after the end of the job.
const LONGEST_LAG: Duration = Duration::from_secs(60);
/// Interval for checking interrupts.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Address for executors on other machines, which authenticate with a token.
const EVERYWHERE: &str = "0.0.0.0";

/// A run, from the submission of its application, if necessary, to the result in the event log.
pub(super) struct Run<'a> {
    job: &'a Job,
    configuration: &'a Configuration,
    request: Request,
    /// Images of the sample.
    images: u64,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Progress),
    host: Host,
    started_at: Timestamp,
    startup_secs: Option<f64>,
    results: Results,
    /// References to the application and its log.
    provenance: Map<String, Value>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        job: &'a Job,
        configuration: &'a Configuration,
        sampling_rate: f64,
        host: Host,
        (interrupt, progress): (&'a Interrupt, &'a mut dyn FnMut(Progress)),
    ) -> Self {
        let images = images_in_sample(job.workload.images, sampling_rate);
        Self {
            job,
            configuration,
            request: Request { id: Uuid::now_v7(), sampling_rate, task: task(job, configuration, images) },
            images,
            interrupt,
            progress,
            host,
            started_at: Timestamp::now(),
            startup_secs: None,
            results: Results::new(job, configuration, images),
            provenance: Map::new(),
        }
    }

    /// Submits an application if necessary, runs the job, and returns the completion time in
    /// seconds.
    pub(super) fn execute(&mut self, spark: &mut Spark) -> Result<f64, Stop> {
        (self.progress)(Progress::Starting);
        let asked = (self.configuration, &self.job.workload);
        // A training run must not start with trained replicas.
        let is_stale =
            |running: &Running| (&running.configuration, &running.workload) != asked || self.job.training.is_some();
        if spark.running.as_ref().is_some_and(is_stale) {
            spark.running = None;
        }
        let submitted = Instant::now();
        let is_new = spark.running.is_none();
        if is_new {
            self.wait_for_room(spark)?;
            spark.running = Some(self.submit(spark)?);
        }
        let Some(running) = &mut spark.running else { return Err(failed("no application is running".into())) };
        self.host.cpu = self.host.cpu.take().or_else(|| running.cpu.clone());
        self.provenance.insert("application".into(), json!(running.id));
        self.provenance.insert("version".into(), json!(running.version));
        running.application.ask(&self.request).map_err(|error| failed(format!("{error:#}")))?;
        // Waits for the untimed job, which starts the executors' processes.
        while self.next(&mut running.application, submitted)? != Line::Measuring {}
        if is_new {
            self.startup_secs = Some(round(submitted.elapsed().as_secs_f64()));
        }
        self.collect(&mut running.application)?;
        self.results.check().map_err(failed)?;
        let log = spark.event_logs.join(&running.id);
        self.completion_time(&log)
    }

    /// Waits until the master has released the resources of an application that has just ended.
    fn wait_for_room(&self, spark: &Spark) -> Result<(), Stop> {
        let Some(ui) = spark.ui() else { return Ok(()) };
        let patience = Instant::now() + LONGEST_RELEASE;
        loop {
            self.check_interrupt()?;
            let cluster = Cluster::of(&ui).map_err(|error| failed(format!("{error:#}")))?;
            match cluster.check(Resources::from_configuration(self.configuration)) {
                Ok(()) => return Ok(()),
                Err(shortage) if shortage.may_pass() && Instant::now() < patience => std::thread::sleep(POLL_INTERVAL),
                Err(shortage) => return Err(failed(shortage.to_string())),
            }
        }
    }

    /// Starts an application and waits for every executor.
    fn submit(&self, spark: &Spark) -> Result<Running, Stop> {
        let submitted = Instant::now();
        let arguments = spark.submission().arguments(self.job, self.configuration);
        let assignment = self.assignment();
        let on_loopback = spark.settings.master.is_loopback();
        let mut application = Application::submit(&spark.home, &arguments, on_loopback, &assignment)
            .map_err(|error| failed(format!("{error:#}")))?;
        let mut started = None;
        let cpu = loop {
            match self.next(&mut application, submitted)? {
                Line::Started { id, version } => started = Some((id, version)),
                Line::Ready(cpu) => break cpu,
                _ => {}
            }
        };
        let (id, version) = started.ok_or_else(|| failed("the driver did not report the application's ID".into()))?;
        let (configuration, workload) = (self.configuration.clone(), self.job.workload.clone());
        Ok(Running { application, configuration, workload, id, version, cpu })
    }

    /// Returns the assignment of the executors.
    fn assignment(&self) -> Assignment {
        // For inference the executors can serve any sampling rate, because smaller samples are
        // prefixes of the full sample.
        let sampling_rate = if self.job.training.is_some() { self.request.sampling_rate } else { 1.0 };
        let mut assignment = self.job.assignment(0, self.configuration, sampling_rate);
        // Spark decides where its executors run.
        assignment.processors.clear();
        assignment.source = assignment.source.absolute();
        if let Some(training) = &mut assignment.training {
            // If Spark averages, executors need no connections.
            training.listen = training.listen.take().filter(|_| self.rounds().is_none()).map(|_| EVERYWHERE.to_owned());
        }
        assignment
    }

    /// Returns the next line of a driver that is starting.
    fn next(&self, application: &mut Application, submitted: Instant) -> Result<Line, Stop> {
        loop {
            self.check_interrupt()?;
            match application.next(POLL_INTERVAL) {
                Some(Line::Failed(why)) => return Err(failed_or_out_of_memory(&why)),
                Some(Line::Gone) => return Err(failed_or_out_of_memory(&application.last_words())),
                Some(line) => return Ok(line),
                None if submitted.elapsed() > LONGEST_STARTUP => {
                    let secs = LONGEST_STARTUP.as_secs();
                    return Err(failed(format!("the cluster had not started every executor after {secs} s")));
                }
                None => {}
            }
        }
    }

    /// Collects the results of the timed job.
    fn collect(&mut self, application: &mut Application) -> Result<(), Stop> {
        let clock = Instant::now();
        let epochs = self.job.training.as_ref().map_or(1, |training| u64::from(training.settings.epochs));
        let images = self.images * epochs;
        let of_task = match self.rounds() {
            Some(rounds) => rounds.images_of_task(self.job),
            None => u64::from(self.configuration.partition_size),
        };
        (self.progress)(Progress::Images(0, images));
        loop {
            self.check_interrupt()?;
            // What follows the last result is the evaluation, which is not timed.
            let is_timed = !self.results.is_complete();
            if let Some(timeout) = self.job.timeout.filter(|timeout| is_timed && clock.elapsed() > *timeout) {
                let secs = timeout.as_secs_f64();
                return Err(Stop::Ended(Outcome::TimedOut, Some(secs), format!("not finished after {secs} s")));
            }
            match application.next(POLL_INTERVAL) {
                Some(Line::Progress(tasks)) => {
                    (self.progress)(Progress::Images(tasks.saturating_mul(of_task).min(images), images));
                }
                Some(Line::Done(report)) => self.results.add(report).map_err(failed)?,
                Some(Line::Measured) => return self.check_broken(),
                Some(Line::Failed(why)) => return Err(failed_or_out_of_memory(&why)),
                Some(Line::Gone) => return Err(failed_or_out_of_memory(&application.last_words())),
                Some(Line::Started { .. } | Line::Ready(_) | Line::Measuring) | None => {}
            }
        }
    }

    fn check_broken(&self) -> Result<(), Stop> {
        let broken = &self.results.broken;
        let limit = self.job.broken_limit.unwrap_or(self.images / 100);
        let Some(BrokenImage { name, why }) = broken.first().filter(|_| broken.len() as u64 > limit) else {
            return Ok(());
        };
        let (count, noun) = (broken.len(), self.job.workload.noun());
        Err(failed(format!(
            "broken {noun}: {count}, more than the {limit} that --max-broken allows; the first is {name} ({why})"
        )))
    }

    /// Returns the rounds of a training run that Spark averages.
    fn rounds(&self) -> Option<Rounds> {
        Rounds::of(self.job, self.configuration, self.images)
    }

    /// Waits for the end of the run in the event log, takes over its facts, and returns the
    /// completion time in seconds.
    fn completion_time(&mut self, log: &Path) -> Result<f64, Stop> {
        let patience = Instant::now() + LONGEST_LAG;
        loop {
            self.check_interrupt()?;
            let application = read_log(log).map_err(|error| failed(format!("{error:#}")))?;
            if let Some(run) = timed_run(&application, self.request.id) {
                self.provenance = run.facts();
                self.startup_secs = run.startup_secs();
                self.started_at = Timestamp::from_millisecond(run.submitted_ms).unwrap_or(self.started_at);
                if self.rounds().is_some() {
                    let learning_secs = self.results.learning_secs;
                    self.results.add_phases(averaging(&run, self.configuration, learning_secs));
                }
                return completion_time(&run);
            }
            if Instant::now() > patience {
                return Err(failed(format!("the event log {} does not contain the end of the run", log.display())));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the sample for an outcome.
    pub(super) fn sample(self, outcome: Outcome, completion_time_secs: Option<f64>, reason: Option<String>) -> Sample {
        let mut extra = Map::new();
        extra.extend(self.job.normalisation_field());
        let (mut configuration, mut host) = (self.configuration.clone(), self.host);
        if let Some(name) = self.results.accelerator() {
            host.adapter.get_or_insert_with(|| name.clone());
            configuration.accelerator = Some(name);
        }
        self.results.describe(self.job, &mut extra);
        if !self.provenance.is_empty() {
            extra.insert("spark".into(), Value::Object(self.provenance));
        }
        Sample {
            schema: SCHEMA,
            id: self.request.id,
            workload: self.job.workload.clone(),
            configuration,
            sampling_rate: self.request.sampling_rate,
            outcome,
            completion_time_secs,
            startup_secs: self.startup_secs,
            predicted: None,
            reason,
            engine: Engine::Spark,
            runner_version: env!("CARGO_PKG_VERSION").to_owned(),
            host,
            started_at: self.started_at,
            seed: Some(self.job.seed),
            images_processed: Some(self.results.images).filter(|images| *images > 0),
            peak_memory_mib: self.results.peak_memory_mib,
            exceeded_memory: None,
            progress: None,
            simulated: None,
            log_error: 0.0,
            extra,
        }
    }

    fn check_interrupt(&self) -> Result<(), Stop> {
        if self.interrupt.is_raised() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

fn task(job: &Job, configuration: &Configuration, images: u64) -> Task {
    let Configuration { executors, partition_size, .. } = *configuration;
    let Some(training) = &job.training else {
        let batch_size = u64::from(job.workload.batch_size);
        let mini_batches = mini_batches(images, u64::from(partition_size), batch_size);
        return Task::Work { images, partition_size, mini_batches };
    };
    let held_out = training.held_out.clone();
    let held_out = held_out.map(|held_out| Evaluation { source: held_out.source.absolute(), ..held_out });
    Task::Train {
        rounds: Rounds::of(job, configuration, images),
        evaluations: held_out.iter().flat_map(|held_out| held_out.shares(executors)).collect(),
    }
}

/// Rounds to microseconds.
fn round(secs: f64) -> f64 {
    (secs * 1e6).round() / 1e6
}
