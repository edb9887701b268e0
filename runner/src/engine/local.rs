//! The local engine: E executor processes on this machine, one queue of partitions.

mod training;

use std::time::{Duration, Instant};

use foreglow_shared::{Configuration, Engine, Outcome, SCHEMA, Sample, Timestamp, Uuid};
use serde_json::{Map, Value, json};

pub use self::training::Course;
use super::fleet::{End, Event, Fleet};
use super::{Job, Progress};
use crate::executor::is_out_of_memory;
use crate::executor::protocol::{BrokenImage, Partition, Phases, Report};
use crate::images::images_in_sample;
use crate::interrupt::{Interrupt, Interrupted};

/// An executor that is not ready by then never will be. The first start on a GPU compiles and tunes for minutes.
const LONGEST_STARTUP: Duration = Duration::from_secs(900);
/// What a sample calls its broken images, and how many of them it names.
const BROKEN: &str = "broken_images";
const NAMED_BROKEN: usize = 10;
/// How soon an interrupt is noticed.
const PULSE: Duration = Duration::from_millis(50);

/// Runs the job once on a configuration at a sampling rate. However the run ends, that is its sample.
///
/// # Errors
/// The run was interrupted.
pub fn measure(
    job: &Job,
    configuration: &Configuration,
    sampling_rate: f64,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> anyhow::Result<Sample> {
    let started_at = Timestamp::now();
    let mut run = Run {
        job,
        configuration,
        partitions: Partitions::new(images_in_sample(job.workload.images, sampling_rate), configuration.partition_size),
        interrupt,
        progress,
        startup: None,
        images_done: 0,
        broken: Vec::new(),
        phases: Phases::default(),
        peak_memory_mib: None,
        course: Course::default(),
    };
    let ending = match run.execute(sampling_rate) {
        Ok(secs) => Ending { outcome: Outcome::Completed, completion_time_secs: Some(secs), reason: None },
        Err(Stop::Interrupted) => return Err(Interrupted.into()),
        Err(Stop::Ended(ending)) => ending,
    };
    Ok(Sample {
        schema: SCHEMA,
        id: Uuid::now_v7(),
        workload: job.workload.clone(),
        configuration: configuration.clone(),
        sampling_rate,
        outcome: ending.outcome,
        completion_time_secs: ending.completion_time_secs,
        startup_secs: run.startup.map(micros),
        reason: ending.reason,
        engine: Engine::Local,
        runner_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: job.host(),
        started_at,
        extra: run.extra(),
    })
}

/// How many images of a run were broken and skipped, and which, as a sentence; `None` where none was.
pub fn broken_images(sample: &Sample) -> Option<String> {
    let broken = sample.extra.get(BROKEN)?;
    let first = broken.get("first")?.get(0)?.as_str()?;
    Some(format!("broken images skipped: {}; the first is {first}", broken.get("count")?))
}

/// Writes broken images into what a sample says beyond its time.
pub(super) fn describe_broken(broken: &[BrokenImage], extra: &mut Map<String, Value>) {
    if !broken.is_empty() {
        let named = broken.iter().take(NAMED_BROKEN);
        let named: Vec<String> = named.map(|BrokenImage { name, why }| format!("{name} ({why})")).collect();
        extra.insert(BROKEN.into(), json!({ "count": broken.len(), "first": named }));
    }
}

struct Run<'a> {
    job: &'a Job,
    configuration: &'a Configuration,
    partitions: Partitions,
    interrupt: &'a Interrupt,
    progress: &'a mut dyn FnMut(Progress),
    startup: Option<Duration>,
    images_done: u64,
    broken: Vec<BrokenImage>,
    phases: Phases,
    peak_memory_mib: Option<u64>,
    course: Course,
}

/// How a run ended otherwise than by its last result.
struct Ending {
    outcome: Outcome,
    completion_time_secs: Option<f64>,
    reason: Option<String>,
}

enum Stop {
    Interrupted,
    Ended(Ending),
}

impl Run<'_> {
    /// Starts the executors, hands out the partitions, and gives the completion time, seconds.
    fn execute(&mut self, sampling_rate: f64) -> Result<f64, Stop> {
        (self.progress)(Progress::Starting);
        let submitted = Instant::now();
        let executors = self.configuration.executors as usize;
        let assignments: Vec<_> =
            (0..executors).map(|executor| self.job.assignment(executor, self.configuration, sampling_rate)).collect();
        let mut fleet = Fleet::start(&assignments).map_err(|error| failed(format!("{error:#}")))?;
        self.wait_until_ready(&mut fleet, submitted)?;
        self.connect(&mut fleet, submitted)?;
        self.startup = Some(submitted.elapsed());

        (self.progress)(Progress::Images(0, self.partitions.images));
        let clock = Instant::now();
        match &self.job.training {
            None => self.hand_out(&mut fleet, clock)?,
            Some(training) => self.train(&mut fleet, clock, &training.settings)?,
        }
        let completion_time = clock.elapsed();
        self.evaluate(&mut fleet)?;
        self.peak_memory_mib = fleet.finish();
        // A clock of the system may stand still between two readings; a completion time may not be zero.
        Ok(micros(completion_time).max(1e-6))
    }

    fn wait_until_ready(&mut self, fleet: &mut Fleet, submitted: Instant) -> Result<(), Stop> {
        let mut starting = self.configuration.executors;
        while starting > 0 {
            self.check_interrupt()?;
            if submitted.elapsed() > LONGEST_STARTUP {
                let secs = LONGEST_STARTUP.as_secs();
                return Err(failed(format!("{starting} executors were not ready {secs} s after their start")));
            }
            match fleet.next(PULSE) {
                None => {}
                Some((_, Event::Report(Report::Ready { images }))) if images == self.partitions.images => starting -= 1,
                Some((_, Event::Report(Report::Ready { images }))) => {
                    let expected = self.partitions.images;
                    return Err(failed(format!(
                        "an executor finds {images} images in the sample and the engine {expected}; do not change the image folder during a run"
                    )));
                }
                Some((executor, Event::Report(Report::Listening { port }))) => self.course.listens(executor, port),
                Some((executor, event)) => return Err(self.unexpected(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Each free slot gets the next partition, until every result is back.
    fn hand_out(&mut self, fleet: &mut Fleet, clock: Instant) -> Result<(), Stop> {
        let mut left = self.partitions.total();
        for _slot in 0..self.configuration.cores_per_executor {
            for executor in 0..self.configuration.executors as usize {
                if let Some(partition) = self.partitions.next() {
                    fleet.hand_out(executor, partition);
                }
            }
        }
        while left > 0 {
            match self.next(fleet, clock)? {
                None => {}
                Some((executor, Event::Report(Report::Done { images, broken, phases, .. }))) => {
                    self.skip(broken)?;
                    if let Some(partition) = self.partitions.next() {
                        fleet.hand_out(executor, partition);
                    }
                    left -= 1;
                    self.images_done += images;
                    self.phases += phases;
                    (self.progress)(Progress::Images(self.images_done, self.partitions.images));
                }
                Some((executor, event)) => return Err(self.unexpected(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Waits a little for the next event, unless the run is interrupted or takes too long.
    fn next(&self, fleet: &Fleet, clock: Instant) -> Result<Option<(usize, Event)>, Stop> {
        self.check_interrupt()?;
        let longest = match self.job.timeout.map(|timeout| (timeout, timeout.saturating_sub(clock.elapsed()))) {
            Some((timeout, Duration::ZERO)) => return Err(timed_out(timeout)),
            Some((_, rest)) => rest.min(PULSE),
            None => PULSE,
        };
        Ok(fleet.next(longest))
    }

    /// Counts images that cannot be used, and ends a run that has too many of them.
    fn skip(&mut self, broken: Vec<BrokenImage>) -> Result<(), Stop> {
        self.broken.extend(broken);
        let limit = self.job.broken_limit.unwrap_or(self.partitions.images / 100);
        let Some(first) = self.broken.first().filter(|_| self.broken.len() as u64 > limit) else { return Ok(()) };
        let (broken, BrokenImage { name, why }) = (self.broken.len(), first);
        Err(failed(format!(
            "broken images: {broken}, more than the {limit} that --max-broken allows; the first is {name} ({why})"
        )))
    }

    fn check_interrupt(&self) -> Result<(), Stop> {
        if self.interrupt.is_raised() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    fn unexpected(&self, fleet: &mut Fleet, executor: usize, event: Event) -> Stop {
        match event {
            Event::Report(Report::Failed { reason, .. }) => self.failed_or_out_of_memory(reason),
            Event::Gone => {
                let end = fleet.end_of(executor);
                self.failed_or_out_of_memory(describe(executor, self.configuration.executors, &end))
            }
            Event::Report(other) => failed(format!("executor {} said {other:?} out of turn", executor + 1)),
            Event::Garbled(line) => failed(format!("executor {} said what is no report: {line}", executor + 1)),
        }
    }

    fn failed_or_out_of_memory(&self, reason: String) -> Stop {
        if !is_out_of_memory(&reason) {
            return failed(reason);
        }
        let memory_mib = self.configuration.memory_per_executor_mib;
        Stop::Ended(Ending {
            outcome: Outcome::OutOfMemory,
            completion_time_secs: None,
            reason: Some(format!("an executor needs more than its {memory_mib} MiB: {reason}")),
        })
    }

    /// What the sample says beyond the format: where the time went, and what makes the run repeatable.
    fn extra(&self) -> Map<String, Value> {
        let mut extra = Map::new();
        extra.insert("seed".into(), json!(self.job.seed));
        extra.insert("images_processed".into(), json!(self.images_done));
        describe_broken(&self.broken, &mut extra);
        if let Some(peak) = self.peak_memory_mib {
            extra.insert("peak_memory_mib".into(), json!(peak));
        }
        if self.images_done > 0 {
            extra.insert("phases".into(), json!(self.phases.rounded()));
        }
        if let Some(training) = &self.job.training {
            extra.insert("training".into(), self.course.to_json(&training.settings));
        }
        extra
    }
}

fn failed(reason: String) -> Stop {
    Stop::Ended(Ending { outcome: Outcome::Failed, completion_time_secs: None, reason: Some(reason) })
}

fn timed_out(timeout: Duration) -> Stop {
    let secs = timeout.as_secs_f64();
    Stop::Ended(Ending {
        outcome: Outcome::TimedOut,
        completion_time_secs: Some(secs),
        reason: Some(format!("not finished after {secs} s")),
    })
}

fn describe(executor: usize, executors: u32, end: &End) -> String {
    let how = end.status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
    let named = format!("executor {} of {executors} ended early ({how})", executor + 1);
    // Of many last words those about memory tell most: a backtrace may follow them.
    let telling = end.last_words.iter().rev().find(|line| is_out_of_memory(line)).or_else(|| end.last_words.last());
    match telling {
        Some(line) => format!("{named}: {line}"),
        None => named,
    }
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// The partitions of a sample, in order.
struct Partitions {
    images: u64,
    size: u64,
    next: u64,
}

impl Partitions {
    fn new(images: u64, size: u32) -> Self {
        Self { images, size: u64::from(size), next: 0 }
    }

    fn total(&self) -> u64 {
        self.images.div_ceil(self.size)
    }
}

impl Iterator for Partitions {
    type Item = Partition;

    fn next(&mut self) -> Option<Partition> {
        let first = self.next * self.size;
        let len = self.images.checked_sub(first).filter(|left| *left > 0)?.min(self.size);
        self.next += 1;
        Some(Partition { index: self.next - 1, first, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_cover_the_sample_once_and_the_last_one_has_the_rest() {
        let partitions = Partitions::new(20, 8);
        assert_eq!(partitions.total(), 3);
        let all: Vec<_> = partitions.map(|partition| (partition.index, partition.first, partition.len)).collect();
        assert_eq!(all, [(0, 0, 8), (1, 8, 8), (2, 16, 4)]);
        assert_eq!(Partitions::new(16, 8).total(), 2);
        assert_eq!(Partitions::new(3, 8).map(|partition| partition.len).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn times_are_rounded_to_microseconds() {
        assert_eq!(micros(Duration::from_nanos(1_234_567_890)), 1.234568);
    }
}
