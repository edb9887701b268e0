//! The local engine: E executor processes on this machine and one queue of partitions.

mod training;

use std::time::{Duration, Instant};

use foreglow_data::{images_in_sample, true_rate};
use foreglow_exit::{Interrupt, Interrupted, Temporary};
use foreglow_machine::{MACHINE, Machine, Use, WARNINGS};
use foreglow_protocol::{BrokenImage, Report};
use foreglow_shared::{Configuration, Engine as EngineName, Outcome, SCHEMA, Sample, Timestamp, Uuid};
use serde_json::{Map, Value, json};

use super::executor_pool::{Event, ExecutorPool};
use super::monitor::{self, Monitor};
use super::partitions::Partitions;
use super::run_result::{RunResult, Stop, failed, timed_out, unexpected};
use super::run_stats::{RunStats, check_work};
use super::training_history::TrainingHistory;
use super::{Engine, Job, Progress, processors};

/// Start-up timeout of an executor. The first start on a GPU compiles and tunes for minutes.
const LONGEST_STARTUP: Duration = Duration::from_secs(900);
/// Interval for checking interrupts.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval for reporting resource use.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// Executors are processes on this machine.
pub struct Local;

impl Engine for Local {
    fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        measure(job, configuration, true_rate(job.workload.images, sampling_rate), interrupt, progress)
    }

    fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        sample.engine == EngineName::Local && sample.host == job.host()
    }

    fn processors(&self, job: &Job) -> Option<u32> {
        job.host().processors
    }

    fn is_cluster(&self) -> bool {
        false
    }

    fn check(&self, _: &Job, _: &[&Configuration]) -> anyhow::Result<()> {
        Ok(())
    }
}

fn measure(
    job: &Job,
    configuration: &Configuration,
    sampling_rate: f64,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Sample> {
    job.check_paths()?;
    let (started_at, id) = (Timestamp::now(), Uuid::now_v7());
    let monitor = match &job.monitor {
        None => Monitor::default(),
        Some(path) => {
            let mut run = json!(configuration.split());
            run["sample"] = json!(id);
            run["sampling_rate"] = json!(sampling_rate);
            Monitor::writing_to(monitor::open(path)?, run)
        }
    };
    let images = images_in_sample(job.workload.images, sampling_rate);
    let validation = job.training.as_ref().map_or(0, |training| training.settings.validation_images(images));
    let mut run = Run {
        job,
        configuration,
        partitions: Partitions::new(images - validation, configuration.partition_size),
        sampling_rate,
        interrupt,
        progress,
        startup: None,
        stats: RunStats::default(),
        machine: None,
        history: TrainingHistory::default(),
        monitor,
        said: None,
        unfinished: None,
    };
    let ending = match run.execute() {
        Ok(secs) => RunResult::new(Outcome::Completed, Some(secs), None),
        Err(Stop::Interrupted) => return Err(Interrupted::default().into()),
        Err(Stop::Ended(ending)) => ending,
    };
    Ok(Sample {
        schema: SCHEMA,
        id,
        workload: job.workload.clone(),
        configuration: configuration.clone(),
        sampling_rate,
        outcome: ending.outcome,
        exceeded_memory: ending.exceeded_memory(),
        progress: None,
        simulated: None,
        log_error: 0.0,
        completion_time_secs: ending.completion_time_secs,
        startup_secs: run.startup.map(micros),
        predicted: None,
        reason: ending.reason,
        engine: EngineName::Local,
        runner_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: job.host(),
        started_at,
        seed: Some(job.seed),
        images_processed: Some(run.stats.images_done),
        peak_memory_mib: run.stats.peak_memory_mib(),
        extra: run.fields(),
    })
}

struct Run<'a> {
    job: &'a Job,
    configuration: &'a Configuration,
    partitions: Partitions,
    sampling_rate: f64,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Progress),
    startup: Option<Duration>,
    stats: RunStats,
    machine: Option<Machine>,
    history: TrainingHistory,
    monitor: Monitor,
    /// Time of the last report on resource use.
    said: Option<Instant>,
    /// A file that an executor is writing; removed after the executors have ended.
    unfinished: Option<Temporary>,
}

impl Run<'_> {
    /// Starts the executors, distributes the partitions, and returns the completion time in
    /// seconds.
    fn execute(&mut self) -> Result<f64, Stop> {
        (self.progress)(Progress::Starting);
        self.job.fill_page_cache(self.sampling_rate, self.interrupt).map_err(|error| failed(format!("{error:#}")))?;
        self.check_interrupt()?;
        let assignments: Vec<_> = (0..self.configuration.executors)
            .map(|executor| self.job.assignment(executor, self.configuration, self.sampling_rate))
            .collect();
        let own: Vec<Vec<u32>> = assignments.iter().map(|assignment| assignment.processors.clone()).collect();
        let slots = (f64::from(self.configuration.split().slots()) * self.job.core_share.unwrap_or(1.0)).ceil() as u32;
        self.machine = Some(Machine::before(slots, processors::of_all(&own), &self.job.device.pci_bus_ids()));
        let submitted = Instant::now();
        let mut pool =
            ExecutorPool::start(&assignments, self.job.core_share).map_err(|error| failed(format!("{error:#}")))?;
        self.stats.start(&assignments, pool.memory_bounds());
        let completion_time = self.drive(&mut pool, submitted);
        if completion_time.is_ok() {
            pool.finish();
        }
        self.stats.use_of(pool.usages());
        completion_time
    }

    /// Runs from the start of the executors to the last result, and returns the completion time in
    /// seconds.
    fn drive(&mut self, pool: &mut ExecutorPool, submitted: Instant) -> Result<f64, Stop> {
        self.wait_until_ready(pool, submitted)?;
        self.connect(pool, submitted)?;
        self.startup = Some(submitted.elapsed());

        (self.progress)(Progress::Images(0, self.partitions.images));
        let (before, own_secs) = (self.machine.as_ref().map(Machine::counters), pool.processor_secs());
        // Start-up and evaluation run at full speed.
        pool.slow_down(true).map_err(|error| failed(format!("{error:#}")))?;
        let clock = Instant::now();
        let result = match &self.job.training {
            None => self.hand_out(pool, clock).map(|()| clock.elapsed()),
            Some(training) => self.train(pool, clock, training),
        };
        if let (Some(machine), Some(before)) = (&mut self.machine, before) {
            machine.note_since(before, pool.processor_secs() - own_secs);
            if pool.has_full_quotas() {
                machine.note_full_quotas();
            }
        }
        pool.slow_down(false).map_err(|error| failed(format!("{error:#}")))?;
        let completion_time = result?;
        check_work(self.stats.images_done, &self.stats.broken, self.job.workload.noun()).map_err(failed)?;
        self.evaluate(pool)?;
        self.save_weights(pool)?;
        // The system's clock may have a coarse resolution, and a completion time must not be zero.
        Ok(micros(completion_time).max(1e-6))
    }

    fn wait_until_ready(&mut self, pool: &mut ExecutorPool, submitted: Instant) -> Result<(), Stop> {
        let mut starting = self.configuration.executors;
        while starting > 0 {
            self.check_interrupt()?;
            if submitted.elapsed() > LONGEST_STARTUP {
                let secs = LONGEST_STARTUP.as_secs();
                return Err(failed(format!("{starting} executors were not ready {secs} s after their start")));
            }
            match pool.next(POLL_INTERVAL) {
                None => {}
                Some((_, Event::Report(Report::Ready { images }))) if images == self.partitions.images => starting -= 1,
                Some((_, Event::Report(Report::Ready { images }))) => {
                    let (expected, noun) = (self.partitions.images, self.job.workload.noun());
                    return Err(failed(format!(
                        "an executor finds {images} {noun} in the sample and the engine {expected}; do not change the data during a run"
                    )));
                }
                Some((executor, Event::Report(Report::Listening { port }))) => self.history.listens(executor, port),
                Some((executor, event)) => return Err(unexpected(self.configuration, pool, executor, event)),
            }
        }
        Ok(())
    }

    /// Assigns the next partition to each free slot until all results have arrived.
    fn hand_out(&mut self, pool: &mut ExecutorPool, clock: Instant) -> Result<(), Stop> {
        let mut left = self.partitions.total();
        let split = self.configuration.split();
        for slot in 0..split.cores_per_executor {
            for executor in (0..split.executors).filter(|executor| slot < split.cores_of(*executor)) {
                if let Some(partition) = self.partitions.next() {
                    pool.hand_out(executor as usize, partition).map_err(not_sent)?;
                }
            }
        }
        while left > 0 {
            match self.next(pool, Some(clock))? {
                None => {}
                Some((executor, Event::Report(Report::Done { images, broken, phases, .. }))) => {
                    self.skip(broken)?;
                    if let Some(partition) = self.partitions.next() {
                        pool.hand_out(executor, partition).map_err(not_sent)?;
                    }
                    left -= 1;
                    self.stats.done(executor, images, phases);
                    (self.progress)(Progress::Images(self.stats.images_done, self.partitions.images));
                }
                Some((executor, event)) => return Err(unexpected(self.configuration, pool, executor, event)),
            }
        }
        Ok(())
    }

    /// Waits briefly for the next event, and checks for interrupts and the timeout. `clock` is when
    /// the measured time began; `None` while it does not pass.
    fn next(&mut self, pool: &mut ExecutorPool, clock: Option<Instant>) -> Result<Option<(usize, Event)>, Stop> {
        self.check_interrupt()?;
        if self.said.is_none_or(|said| said.elapsed() >= REPORT_INTERVAL) {
            self.said = Some(Instant::now());
            self.say_use(pool.processors_in_use());
        }
        let Some(clock) = clock else { return Ok(pool.next(POLL_INTERVAL)) };
        let accelerators = || self.machine.as_ref().map(Machine::each_accelerator_now).unwrap_or_default();
        let look = || (pool.processors_in_use(), pool.memory_mib(), accelerators());
        self.monitor.tick(clock, self.stats.images_done, look);
        let longest = match self.job.timeout.map(|timeout| (timeout, timeout.saturating_sub(clock.elapsed()))) {
            Some((timeout, Duration::ZERO)) => return Err(timed_out(timeout)),
            Some((_, rest)) => rest.min(POLL_INTERVAL),
            None => POLL_INTERVAL,
        };
        Ok(pool.next(longest))
    }

    fn say_use(&mut self, processors: f64) {
        let accelerator = self.machine.as_ref().and_then(Machine::accelerators_now);
        (self.progress)(Progress::Using(Use { processors, accelerator }));
    }

    /// Returns the additional fields of the sample.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = self.stats.fields();
        fields.extend(self.job.normalisation_field());
        if let Some(training) = &self.job.training {
            fields.insert("training".into(), self.history.to_json(training, self.job));
        }
        fields.extend(self.monitor.summary().map(|summary| ("usage".to_owned(), summary)));
        if let Some(machine) = &self.machine {
            fields.insert(MACHINE.into(), machine.to_json());
            let warnings = machine.warnings();
            if !warnings.is_empty() {
                fields.insert(WARNINGS.into(), json!(warnings));
            }
        }
        fields
    }

    /// Records unusable items, and ends a run that has too many of them.
    fn skip(&mut self, broken: Vec<BrokenImage>) -> Result<(), Stop> {
        let all = &mut self.stats.broken;
        all.extend(broken);
        let limit = self.job.broken_limit.unwrap_or(self.partitions.images / 100);
        let Some(first) = all.first().filter(|_| all.len() as u64 > limit) else { return Ok(()) };
        let (broken, BrokenImage { name, why }, noun) = (all.len(), first, self.job.workload.noun());
        Err(failed(format!(
            "broken {noun}: {broken}, more than the {limit} that --max-broken allows; the first is {name} ({why})"
        )))
    }

    fn check_interrupt(&self) -> Result<(), Stop> {
        if self.interrupt.is_raised() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

/// The end of a run whose executor cannot be told what to do.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err, which gives its error away")]
fn not_sent(error: anyhow::Error) -> Stop {
    failed(format!("{error:#}"))
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_microseconds() {
        assert_eq!(micros(Duration::from_nanos(1_234_567_890)), 1.234568);
    }

    /// Returns whether the start of a file is in the page cache; `None` if the file system does not
    /// say.
    #[cfg(target_os = "linux")]
    fn is_cached(path: &std::path::Path) -> Option<bool> {
        use rustix::io::{Errno, ReadWriteFlags, preadv2};
        let file = std::fs::File::open(path).unwrap();
        let mut bytes = [0];
        match preadv2(&file, &mut [std::io::IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT) {
            Ok(_) => Some(true),
            Err(Errno::AGAIN) => Some(false),
            Err(_) => None,
        }
    }

    /// Returns how many of eight evicted files are in the page cache after a run with half of them;
    /// `None` if the file system does not evict files, or does not say what its cache holds.
    #[cfg(target_os = "linux")]
    fn cached_by_a_run() -> Option<usize> {
        // Beside the test's program, because the folder of temporary files may be in memory.
        let folder = tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
        let files: Vec<_> = (0..8).map(|number| folder.path().join(format!("{number}.png"))).collect();
        files.iter().for_each(|file| std::fs::write(file, [7; 4096]).unwrap());
        files.iter().for_each(|file| foreglow_data::forget(file).unwrap());
        // A file that is asked about is read soon after, so that each is asked about once.
        let other = folder.path().join("other");
        std::fs::write(&other, [7; 4096]).unwrap();
        foreglow_data::forget(&other).unwrap();
        if is_cached(&other) != Some(false) {
            return None;
        }
        let source = foreglow_data::Kind::Folder.at(folder.path());
        let job = Job { source, workload: Job::workload("lenet5", 32, 8, 2), ..crate::sweep::tests::job() };
        let configuration = job.configuration(foreglow_shared::CoreSplit::even(1, 1), 512, 2);
        // The executor would be this test's program, which does not know the command.
        let sample = Local.measure(&job, &configuration, 0.5, &Interrupt::default(), &mut |_| {}).unwrap();
        assert_eq!(sample.outcome, Outcome::Failed);
        Some(files.iter().filter(|file| is_cached(file) == Some(true)).count())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_files_of_a_sample_are_in_the_page_cache_before_the_executors_start() {
        // The system evicts files as far as it can: it may keep one, and then more are cached than
        // were read.
        for _ in 0..5 {
            let Some(cached) = cached_by_a_run() else {
                eprintln!("SKIPPED: this file system does not evict files, or does not say what its cache holds");
                return;
            };
            assert!(cached >= 4, "half of the files are in the sample, and {cached} are cached");
            if cached == 4 {
                return;
            }
        }
        panic!("more files than those of the sample are cached after each of five runs");
    }
}
