//! A training run: connects the executors, trains, and evaluates the CNN afterwards.

use std::time::{Duration, Instant};

use foreglow_exit::Temporary;
use foreglow_protocol::{BrokenImage, DataSharding, EvaluationTotals, Order, Report, Round};
use foreglow_shared::{Confusion, Uuid};

use super::super::checkpoint::Checkpoint;
use super::super::executor_pool::{Event, ExecutorPool};
use super::super::training_history::TrainingHistory;
use super::super::{Progress, TrainingJob};
use super::{LONGEST_STARTUP, POLL_INTERVAL, Run, not_sent};
use crate::run_result::{Stop, failed, unexpected};

/// Time limit for finding the executor whose end made others fail.
const LOOKING: Duration = Duration::from_secs(2);

impl Run<'_> {
    /// Sends the executors each other's addresses and waits until all are connected.
    pub fn connect(&mut self, pool: &mut ExecutorPool, submitted: Instant) -> Result<(), Stop> {
        if self.history.ports.is_empty() {
            return Ok(());
        }
        self.history.ports.sort_unstable();
        let addresses: Vec<String> = self.history.ports.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
        // The time in each leaves 74 random bits.
        let token = format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple());
        for rank in 0..self.configuration.executors {
            let (addresses, token) = (addresses.clone(), token.clone());
            pool.order(rank as usize, &Order::Peers { rank, addresses, token }).map_err(not_sent)?;
        }
        let mut missing = self.configuration.executors;
        while missing > 0 {
            self.check_interrupt()?;
            if submitted.elapsed() > LONGEST_STARTUP {
                return Err(failed(format!("{missing} executors did not connect to the others")));
            }
            match pool.next(POLL_INTERVAL) {
                None => {}
                Some((_, Event::Report(Report::Joined { .. }))) => missing -= 1,
                Some((executor, event)) => return Err(self.cause(pool, executor, event)),
            }
        }
        Ok(())
    }

    /// Trains all steps in every executor, and returns the time that training took. With validation
    /// or a checkpoint the executors stop after each epoch, and so does the clock, also that of the
    /// timeout.
    pub fn train(&mut self, pool: &mut ExecutorPool, clock: Instant, training: &TrainingJob) -> Result<Duration, Stop> {
        let settings = &training.settings;
        let images = self.all_images();
        (self.progress)(Progress::Images(0, images));
        if settings.validation.is_none() && training.checkpoint.is_none() {
            self.round(pool, Some(clock), &Round::default(), |_| Round::default())?;
            return Ok(clock.elapsed());
        }
        let mut time = Duration::ZERO;
        let checkpoint = match &training.checkpoint {
            None => None,
            Some(path) => Some(Checkpoint::of(path, self.job, self.configuration, self.sampling_rate)),
        };
        let mut first = 0;
        if let Some(checkpoint) = &checkpoint
            && let Some(kept) = checkpoint.kept().map_err(|error| failed(format!("{error:#}")))?
        {
            first = kept.epochs_done;
            time = Duration::try_from_secs_f64(kept.secs).unwrap_or_default();
            let files = checkpoint.files(first);
            // A round without steps only loads.
            let first_step = u64::from(first) * self.steps();
            let load = |rank: u32| vec![files[rank as usize % files.len()].clone()];
            let nothing = Round { first_step, steps: Some(0), ..Round::default() };
            self.round(pool, None, &nothing, |rank| Round { load: load(rank), ..Round::default() })?;
            self.stats.images_done += kept.course.images();
            self.history.resume(kept.course, first);
            (self.progress)(Progress::Resumed(first));
        }
        for epoch in first..settings.epochs {
            let (start, steps) = (Instant::now(), self.steps());
            let round = Round { first_step: u64::from(epoch) * steps, steps: Some(steps), ..Round::default() };
            self.round(pool, began(start, time), &round, |_| Round::default())?;
            time += start.elapsed();
            if settings.validation.is_some() {
                self.validate(pool, epoch)?;
            }
            self.say_epoch(u64::from(epoch));
            if let Some(checkpoint) = &checkpoint {
                self.save(pool, checkpoint, epoch + 1, time)?;
            }
        }
        Ok(time)
    }

    /// Saves the replicas and the history, and then updates the checkpoint.
    fn save(
        &mut self,
        pool: &mut ExecutorPool,
        checkpoint: &Checkpoint,
        epochs_done: u32,
        time: Duration,
    ) -> Result<(), Stop> {
        let files = checkpoint.files(epochs_done);
        // A round without steps only saves.
        let first_step = u64::from(epochs_done) * self.steps();
        let nothing = Round { first_step, steps: Some(0), ..Round::default() };
        self.round(pool, None, &nothing, |rank| Round { save: files.get(rank as usize).cloned(), ..Round::default() })?;
        checkpoint.keep(epochs_done, time.as_secs_f64(), &self.history).map_err(|error| failed(format!("{error:#}")))
    }

    /// Returns the steps per epoch.
    fn steps(&self) -> u64 {
        let executors = u64::from(self.configuration.executors);
        let batch_size = u64::from(self.job.workload.batch_size);
        DataSharding { images: self.partitions.images, batch_size, executors }.steps()
    }

    fn all_images(&self) -> u64 {
        let epochs = self.job.training.as_ref().map_or(1, |training| training.settings.epochs);
        self.partitions.images * u64::from(epochs)
    }

    /// Has every executor train a round; `own` returns the files of a rank. `clock` is as in
    /// [`Self::next`].
    fn round(
        &mut self,
        pool: &mut ExecutorPool,
        clock: Option<Instant>,
        round: &Round,
        own: impl Fn(u32) -> Round,
    ) -> Result<(), Stop> {
        let images = self.all_images();
        for rank in 0..self.configuration.executors {
            let Round { load, save, .. } = own(rank);
            pool.order(rank as usize, &Order::Train(Round { rank, load, save, ..round.clone() })).map_err(not_sent)?;
        }
        let mut left = self.configuration.executors;
        while left > 0 {
            match self.next(pool, clock)? {
                None => {}
                Some((executor, Event::Report(Report::Learned { epoch, tally, broken, phases }))) => {
                    let seen = tally.images + broken.len() as u64;
                    self.skip_once(broken)?;
                    self.history.learn(epoch, tally);
                    self.stats.learned(executor, tally.images, phases);
                    let is_over = self.history.see(epoch, seen) == self.partitions.images;
                    // Without rounds the epochs end one after the other during the training.
                    if is_over && round.steps.is_none() {
                        self.say_epoch(epoch);
                    }
                    (self.progress)(Progress::Images(self.history.seen(), images));
                }
                Some((_, Event::Report(Report::Trained { .. }))) => left -= 1,
                Some((executor, event)) => return Err(self.cause(pool, executor, event)),
            }
        }
        Ok(())
    }

    fn say_epoch(&mut self, epoch: u64) {
        let of = self.job.training.as_ref().map_or(1, |training| training.settings.epochs);
        if let Some(epoch) = self.history.epoch(epoch, of) {
            (self.progress)(Progress::Epoch(epoch));
        }
    }

    /// Evaluates the CNN on the validation images, divided among the executors.
    fn validate(&mut self, pool: &mut ExecutorPool, epoch: u32) -> Result<(), Stop> {
        for rank in 0..self.configuration.executors {
            pool.order(rank as usize, &Order::Validate { rank }).map_err(not_sent)?;
        }
        self.history.start_validation(u64::from(epoch));
        self.evaluated(pool, |history, tally, confusion| history.validate(u64::from(epoch), tally, confusion))
    }

    /// Saves the weights of the first replica; all replicas are equal at the end.
    pub fn save_weights(&mut self, pool: &mut ExecutorPool) -> Result<(), Stop> {
        let path = self.job.training.as_ref().and_then(|training| training.save_weights.clone());
        let Some(path) = path else { return Ok(()) };
        let path = std::path::absolute(&path).unwrap_or(path);
        // The executor, which an interrupt kills, writes this file before it has its final name.
        let mut part = path.clone().into_os_string();
        part.push(".part");
        self.unfinished = Some(Temporary::at(part));
        pool.order(0, &Order::SaveWeights { path }).map_err(not_sent)?;
        loop {
            self.check_interrupt()?;
            match pool.next(POLL_INTERVAL) {
                None => {}
                Some((_, Event::Report(Report::SavedWeights { .. }))) => return Ok(()),
                Some((executor, event)) => return Err(self.cause(pool, executor, event)),
            }
        }
    }

    /// Divides the held-out images among the executors, whose replicas are equal at the end.
    pub fn evaluate(&mut self, pool: &mut ExecutorPool) -> Result<(), Stop> {
        let Some(held_out) = self.job.training.as_ref().and_then(|training| training.held_out.clone()) else {
            return Ok(());
        };
        let executors = self.configuration.executors;
        for (executor, share) in held_out.shares(executors).enumerate() {
            pool.order(executor, &Order::Evaluate(share)).map_err(not_sent)?;
        }
        self.evaluated(pool, TrainingHistory::judge)
    }

    /// Waits until every executor has evaluated its share.
    fn evaluated(
        &mut self,
        pool: &mut ExecutorPool,
        take: impl Fn(&mut TrainingHistory, EvaluationTotals, &Confusion),
    ) -> Result<(), Stop> {
        let mut left = self.configuration.executors;
        while left > 0 {
            self.check_interrupt()?;
            match pool.next(POLL_INTERVAL) {
                None => {}
                Some((_, Event::Report(Report::Evaluated { tally, broken, confusion }))) => {
                    self.stats.skip_held_out(broken);
                    take(&mut self.history, tally, &confusion);
                    left -= 1;
                }
                Some((executor, event)) => return Err(self.cause(pool, executor, event)),
            }
        }
        Ok(())
    }

    /// Records unusable images once, although every epoch reads them again.
    fn skip_once(&mut self, mut broken: Vec<BrokenImage>) -> Result<(), Stop> {
        broken.retain(|image| self.stats.broken.iter().all(|known| known.name != image.name));
        self.skip(broken)
    }

    /// Returns why the run ends. If an executor dies, others fail because of it and may report
    /// first.
    fn cause(&self, pool: &mut ExecutorPool, executor: usize, event: Event) -> Stop {
        if matches!(event, Event::Report(Report::Failed { .. })) {
            let end = Instant::now() + LOOKING;
            while Instant::now() < end {
                let Some((other, Event::Gone)) = pool.next(POLL_INTERVAL) else { continue };
                if pool.has_failed(other) {
                    return unexpected(self.configuration, pool, other, Event::Gone);
                }
            }
        }
        unexpected(self.configuration, pool, executor, event)
    }
}

/// Returns when the clock of a training would have started, had it not stopped: `time` before now.
/// A system that started later than that has no such instant, and the clock starts now.
fn began(now: Instant, time: Duration) -> Option<Instant> {
    Some(now.checked_sub(time).unwrap_or(now))
}
