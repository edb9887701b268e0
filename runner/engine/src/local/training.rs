//! A training run: connects the executors, trains, and evaluates the CNN afterwards.

use std::time::{Duration, Instant};

use foreglow_protocol::{BrokenImage, Order, Report, Round, Tally, Training};
use foreglow_shared::Uuid;
use serde_json::{Value, json};

use super::super::Progress;
use super::super::fleet::{Event, Fleet};
use super::{LONGEST_STARTUP, PULSE, Run};
use crate::ending::{Stop, failed, unexpected};

/// How long to look for the executor whose end made others fail.
const LOOKING: Duration = Duration::from_secs(2);

/// Course of a training.
#[derive(Debug, Default)]
pub struct Course {
    /// Listening ports by executor.
    ports: Vec<(usize, u16)>,
    epochs: Vec<Tally>,
    held_out: Option<Tally>,
}

impl Course {
    /// Records the port on which an executor listens.
    pub fn listens(&mut self, executor: usize, port: u16) {
        self.ports.push((executor, port));
    }

    /// Records images learned in an epoch.
    pub fn learn(&mut self, epoch: u64, tally: Tally) {
        let epoch = epoch as usize;
        self.epochs.resize(self.epochs.len().max(epoch + 1), Tally::default());
        self.epochs[epoch] += tally;
    }

    /// Records evaluated held-out images.
    pub fn judge(&mut self, tally: Tally) {
        *self.held_out.get_or_insert_default() += tally;
    }

    /// Returns the field of the sample.
    pub fn to_json(&self, settings: &Training) -> Value {
        let mut json = json!({
            "learning_rate": settings.learning_rate,
            "schedule": settings.schedule,
            "optimizer": settings.optimizer,
            "epochs": self.epochs.iter().map(score).collect::<Vec<_>>(),
        });
        if let Some(held_out) = &self.held_out {
            json["held_out"] = score(held_out);
        }
        json
    }
}

/// Returns mean loss and accuracy. A loss that is not finite, because the training diverged,
/// becomes null.
fn score(tally: &Tally) -> Value {
    let images = tally.images.max(1) as f64;
    let round = |number: f64| (number * 1e6).round() / 1e6;
    json!({
        "images": tally.images,
        "loss": round(tally.loss_sum / images),
        "accuracy": round(tally.correct as f64 / images),
    })
}

impl Run<'_> {
    /// Sends the executors each other's addresses and waits until all are connected.
    pub fn connect(&mut self, fleet: &mut Fleet, submitted: Instant) -> Result<(), Stop> {
        if self.course.ports.is_empty() {
            return Ok(());
        }
        self.course.ports.sort_unstable();
        let addresses: Vec<String> = self.course.ports.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
        let token = Uuid::now_v7().simple().to_string();
        for rank in 0..self.configuration.executors {
            let (addresses, token) = (addresses.clone(), token.clone());
            fleet.order(rank as usize, &Order::Peers { rank, addresses, token });
        }
        let mut missing = self.configuration.executors;
        while missing > 0 {
            self.check_interrupt()?;
            if submitted.elapsed() > LONGEST_STARTUP {
                return Err(failed(format!("{missing} executors did not connect to the others")));
            }
            match fleet.next(PULSE) {
                None => {}
                Some((_, Event::Report(Report::Joined { .. }))) => missing -= 1,
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Trains all steps in every executor; the last executor to finish stops the clock.
    pub fn train(&mut self, fleet: &mut Fleet, clock: Instant, settings: &Training) -> Result<(), Stop> {
        let images = self.partitions.images * u64::from(settings.epochs);
        (self.progress)(Progress::Images(0, images));
        for rank in 0..self.configuration.executors {
            fleet.order(rank as usize, &Order::Train(Round { rank, ..Round::default() }));
        }
        let (mut left, mut skipped) = (self.configuration.executors, 0);
        while left > 0 {
            match self.next(fleet, clock)? {
                None => {}
                Some((executor, Event::Report(Report::Learned { epoch, tally, broken, phases }))) => {
                    skipped += broken.len() as u64;
                    self.skip_once(broken)?;
                    self.course.learn(epoch, tally);
                    self.account.learned(executor, tally.images, phases);
                    (self.progress)(Progress::Images(self.account.images_done + skipped, images));
                }
                Some((_, Event::Report(Report::Trained { .. }))) => left -= 1,
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Divides the held-out images among the executors, whose replicas are equal by now.
    pub fn evaluate(&mut self, fleet: &mut Fleet) -> Result<(), Stop> {
        let Some(held_out) = self.job.training.as_ref().and_then(|training| training.held_out.clone()) else {
            return Ok(());
        };
        let executors = self.configuration.executors;
        for (executor, share) in held_out.shares(executors).enumerate() {
            fleet.order(executor, &Order::Evaluate(share));
        }
        let mut left = executors;
        while left > 0 {
            self.check_interrupt()?;
            match fleet.next(PULSE) {
                None => {}
                Some((_, Event::Report(Report::Evaluated { tally, broken }))) => {
                    self.skip_once(broken)?;
                    self.course.judge(tally);
                    left -= 1;
                }
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Records unusable images once, although every epoch meets them again.
    fn skip_once(&mut self, mut broken: Vec<BrokenImage>) -> Result<(), Stop> {
        broken.retain(|image| self.account.broken.iter().all(|known| known.name != image.name));
        self.skip(broken)
    }

    /// Returns why the run ends. If an executor dies, others fail because of it and may report
    /// first.
    fn cause(&self, fleet: &mut Fleet, executor: usize, event: Event) -> Stop {
        if matches!(event, Event::Report(Report::Failed { .. })) {
            let end = Instant::now() + LOOKING;
            while Instant::now() < end {
                let Some((other, Event::Gone)) = fleet.next(PULSE) else { continue };
                if fleet.has_failed(other) {
                    return unexpected(self.configuration, fleet, other, Event::Gone);
                }
            }
        }
        unexpected(self.configuration, fleet, executor, event)
    }
}
