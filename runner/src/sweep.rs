//! Many runs of one job: which, in what order, which of them are done already, and how long the rest takes.

use std::time::{Duration, Instant};

use foreglow_shared::{Configuration, Outcome, Sample};

use crate::engine::{Engine, Job, Progress};
use crate::images::images_in_sample;
use crate::interrupt::Interrupt;

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it runs on.
    pub configuration: Configuration,
    /// Share of the images that it processes.
    pub sampling_rate: f64,
    /// Its number among the runs that are equal otherwise, from 0.
    pub repetition: u32,
}

/// Every combination of these, each so many times.
#[derive(Clone, Debug)]
pub struct Grid {
    /// E.
    pub executors: Vec<u32>,
    /// C.
    pub cores: Vec<u32>,
    /// Executor memory, MiB.
    pub memory_mib: Vec<u32>,
    /// P.
    pub partition_sizes: Vec<u32>,
    /// SR.
    pub sampling_rates: Vec<f64>,
    /// Runs of each combination.
    pub repeat: u32,
}

/// Told while a sweep goes on.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The run, counted from 0.
    pub number: usize,
    /// All runs of the sweep.
    pub of: usize,
    /// What runs.
    pub run: &'a Run,
    /// How far it is.
    pub progress: Progress,
    /// Until the last run ends, as the runs so far say; `None` before the first.
    pub time_left: Option<Duration>,
}

impl Grid {
    /// The runs, cheap ones first: small samples before large ones. A repetition goes through all configurations before
    /// the next one begins, so that a machine that is busy for a while does not spoil one configuration alone.
    pub fn runs(&self, job: &Job) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut rates = self.sampling_rates.clone();
        rates.sort_by(f64::total_cmp);
        for sampling_rate in rates {
            for repetition in 0..self.repeat {
                for &executors in &self.executors {
                    for &cores in &self.cores {
                        for &memory_mib in &self.memory_mib {
                            for &partition_size in &self.partition_sizes {
                                let configuration = job.configuration(executors, cores, memory_mib, partition_size);
                                runs.push(Run { configuration, sampling_rate, repetition });
                            }
                        }
                    }
                }
            }
        }
        runs
    }
}

/// The runs that are left once these samples are there: one less for each completed run of the same job on the same
/// machine and configuration.
pub fn left(runs: Vec<Run>, engine: &Engine, job: &Job, samples: &[Sample]) -> Vec<Run> {
    let host = engine.host(job);
    let mut known: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.outcome == Outcome::Completed && sample.engine == engine.word())
        .filter(|sample| sample.workload == job.workload && sample.host == host)
        .collect();
    let is_left = |run: &Run| {
        let same =
            |sample: &&Sample| sample.configuration == run.configuration && sample.sampling_rate == run.sampling_rate;
        match known.iter().position(same) {
            Some(index) => {
                known.swap_remove(index);
                false
            }
            None => true,
        }
    };
    runs.into_iter().filter(is_left).collect()
}

/// The same runs, those of a configuration one after the other: what an engine has started for it serves them all.
pub fn by_configuration(runs: Vec<Run>) -> Vec<Run> {
    let mut sorted: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        let after = sorted.iter().rposition(|other| other.configuration == run.configuration);
        sorted.insert(after.map_or(sorted.len(), |last| last + 1), run);
    }
    sorted
}

/// Runs them one after the other. Each sample, however its run ended, is given to `on_sample` at once.
///
/// # Errors
/// The sweep was interrupted, or `on_sample` failed.
pub fn sweep(
    engine: &mut Engine,
    job: &Job,
    runs: &[Run],
    interrupt: &Interrupt,
    on_step: &mut dyn FnMut(Step<'_>),
    on_sample: &mut dyn FnMut(Sample) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut pace = Pace::new(engine.processors());
    for (number, run) in runs.iter().enumerate() {
        let time_left = pace.time_left(job, &runs[number..]);
        let start = Instant::now();
        let mut tell = |progress| on_step(Step { number, of: runs.len(), run, progress, time_left });
        let sample = engine.measure(job, &run.configuration, run.sampling_rate, interrupt, &mut tell)?;
        pace.add(job, run, start.elapsed(), &sample);
        on_sample(sample)?;
    }
    Ok(())
}

/// How fast the runs so far went.
#[derive(Default)]
struct Pace {
    processors: Option<u32>,
    runs: u32,
    startup: Duration,
    work_secs: f64,
    work: f64,
}

impl Pace {
    fn new(processors: Option<u32>) -> Self {
        Self { processors, ..Self::default() }
    }

    fn add(&mut self, job: &Job, run: &Run, wall: Duration, sample: &Sample) {
        let Some(secs) = sample.completed_secs() else { return };
        self.runs += 1;
        self.startup += wall.saturating_sub(Duration::from_secs_f64(secs));
        self.work_secs += secs;
        self.work += self.work_of(job, run);
    }

    fn time_left(&self, job: &Job, runs: &[Run]) -> Option<Duration> {
        if self.runs == 0 {
            return None;
        }
        let work: f64 = runs.iter().map(|run| self.work_of(job, run)).sum();
        let startup = self.startup.as_secs_f64() / f64::from(self.runs) * runs.len() as f64;
        Duration::try_from_secs_f64(startup + work * self.work_secs / self.work).ok()
    }

    /// Images that each of the slots that the machines really have works through.
    fn work_of(&self, job: &Job, run: &Run) -> f64 {
        let slots = run.configuration.executors * run.configuration.cores_per_executor;
        let slots = slots.min(self.processors.unwrap_or(slots)).max(1);
        images_in_sample(job.workload.images, run.sampling_rate) as f64 / f64::from(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cnn::Architecture;
    use crate::device::{self, Wish};
    use crate::images::Source;

    fn job() -> Job {
        let architecture = Architecture::named("lenet5").unwrap();
        Job {
            workload: Job::workload(architecture, 32, 1000, 8),
            source: Source::Folder("images".into()),
            device: device::choose(&Wish::Cpu).unwrap(),
            seed: 0,
            timeout: None,
            broken_limit: None,
            training: None,
        }
    }

    fn grid(repeat: u32) -> Grid {
        Grid {
            executors: vec![1, 2],
            cores: vec![1],
            memory_mib: vec![1024],
            partition_sizes: vec![8],
            sampling_rates: vec![0.1, 0.01],
            repeat,
        }
    }

    fn sample(job: &Job, run: &Run, outcome: Outcome) -> Sample {
        Sample {
            schema: foreglow_shared::SCHEMA,
            id: foreglow_shared::Uuid::nil(),
            workload: job.workload.clone(),
            configuration: run.configuration.clone(),
            sampling_rate: run.sampling_rate,
            outcome,
            completion_time_secs: Some(2.0),
            startup_secs: None,
            reason: None,
            engine: foreglow_shared::Engine::Local,
            runner_version: String::new(),
            host: job.host(),
            started_at: foreglow_shared::Timestamp::UNIX_EPOCH,
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn small_samples_come_first_and_a_repetition_goes_round_all_configurations() {
        let order: Vec<_> = grid(2)
            .runs(&job())
            .iter()
            .map(|run| (run.sampling_rate, run.repetition, run.configuration.executors))
            .collect();
        let expected = [
            (0.01, 0, 1),
            (0.01, 0, 2),
            (0.01, 1, 1),
            (0.01, 1, 2),
            (0.1, 0, 1),
            (0.1, 0, 2),
            (0.1, 1, 1),
            (0.1, 1, 2),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_runs_of_a_configuration_can_follow_one_another() {
        let order: Vec<_> = by_configuration(grid(2).runs(&job()))
            .iter()
            .map(|run| (run.configuration.executors, run.sampling_rate, run.repetition))
            .collect();
        let one = [(1, 0.01, 0), (1, 0.01, 1), (1, 0.1, 0), (1, 0.1, 1)];
        assert_eq!(order[..4], one);
        assert_eq!(order[4..], one.map(|(_, rate, repetition)| (2, rate, repetition)));
    }

    #[test]
    fn finished_runs_are_not_repeated_and_failed_ones_are() {
        let job = job();
        let runs = grid(2).runs(&job);
        let samples = [sample(&job, &runs[0], Outcome::Completed), sample(&job, &runs[1], Outcome::Failed)];
        let rest = left(runs.clone(), &Engine::Local, &job, &samples);
        assert_eq!(rest.len(), 7);
        assert_eq!(rest[0], runs[1]);
        let mut other = job.clone();
        other.workload.images = 2000;
        assert_eq!(left(runs.clone(), &Engine::Local, &other, &samples).len(), 8, "another job");
        let mut elsewhere = samples.to_vec();
        elsewhere[0].host.cpu = Some("another machine".into());
        assert_eq!(left(runs, &Engine::Local, &job, &elsewhere).len(), 8, "another machine");
    }

    #[test]
    fn the_time_left_follows_the_pace_of_the_runs_so_far() {
        let job = job();
        let runs = grid(1).runs(&job);
        let mut pace = Pace::new(Some(2));
        assert_eq!(pace.time_left(&job, &runs), None);
        // 10 images in 2 s after 1 s of start-up; the last two runs have 100 images on 1 and, if there are 2, 2 slots.
        pace.add(&job, &runs[0], Duration::from_secs(3), &sample(&job, &runs[0], Outcome::Completed));
        let left = pace.time_left(&job, &runs[2..3]).unwrap();
        assert_eq!(left, Duration::from_secs(21));
    }
}
