//! A run that trains: connects the executors, lets them train, and judges the CNN afterwards.

use std::time::{Duration, Instant};

use foreglow_shared::Uuid;
use serde_json::{Value, json};

use super::super::Progress;
use super::super::fleet::{Event, Fleet};
use super::{LONGEST_STARTUP, PULSE, Run, Stop, describe, failed};
use crate::executor::protocol::{BrokenImage, Evaluation, Order, Report, Round, Tally};
use crate::executor::training::Training;

/// How long the engine looks for the executor whose end made others fail.
const LOOKING: Duration = Duration::from_secs(2);

/// How the training goes.
#[derive(Default)]
pub struct Course {
    /// By executor, where it listens.
    ports: Vec<(usize, u16)>,
    epochs: Vec<Tally>,
    held_out: Option<Tally>,
}

impl Course {
    /// An executor says where it listens.
    pub fn listens(&mut self, executor: usize, port: u16) {
        self.ports.push((executor, port));
    }

    /// How it went, for the sample.
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

/// Mean loss and accuracy; a loss that is no number (the training diverged) is null.
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
    /// Tells executors that train together where the others are, and waits until all are connected.
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
                return Err(failed(format!("{missing} executors did not find the others")));
            }
            match fleet.next(PULSE) {
                None => {}
                Some((_, Event::Report(Report::Joined { .. }))) => missing -= 1,
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Every executor trains all steps of its part; the last one to end stops the clock.
    pub fn train(&mut self, fleet: &mut Fleet, clock: Instant, settings: &Training) -> Result<(), Stop> {
        let images = self.partitions.images * u64::from(settings.epochs);
        (self.progress)(Progress::Images(0, images));
        for rank in 0..self.configuration.executors {
            fleet.order(rank as usize, &Order::Train(Round { rank, ..Round::default() }));
        }
        self.course.epochs = vec![Tally::default(); settings.epochs as usize];
        let (mut left, mut skipped) = (self.configuration.executors, 0);
        while left > 0 {
            match self.next(fleet, clock)? {
                None => {}
                Some((_, Event::Report(Report::Learned { epoch, tally, broken, phases }))) => {
                    skipped += broken.len() as u64;
                    self.skip_once(broken)?;
                    if let Some(whole) = self.course.epochs.get_mut(epoch as usize) {
                        *whole += tally;
                    }
                    self.images_done += tally.images;
                    self.phases += phases;
                    (self.progress)(Progress::Images(self.images_done + skipped, images));
                }
                Some((_, Event::Report(Report::Trained { .. }))) => left -= 1,
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        Ok(())
    }

    /// Deals the images that were held out to the executors, whose replicas are equal by now.
    pub fn evaluate(&mut self, fleet: &mut Fleet) -> Result<(), Stop> {
        let Some(held_out) = self.job.training.as_ref().and_then(|training| training.held_out.clone()) else {
            return Ok(());
        };
        let executors = u64::from(self.configuration.executors);
        let start = |executor: u64| held_out.first + executor * held_out.images / executors;
        for executor in 0..executors {
            let (first, images) = (start(executor), start(executor + 1) - start(executor));
            let source = held_out.source.clone();
            fleet.order(executor as usize, &Order::Evaluate(Evaluation { source, first, images }));
        }
        let (mut whole, mut left) = (Tally::default(), executors);
        while left > 0 {
            self.check_interrupt()?;
            match fleet.next(PULSE) {
                None => {}
                Some((_, Event::Report(Report::Evaluated { tally, broken }))) => {
                    self.skip_once(broken)?;
                    whole += tally;
                    left -= 1;
                }
                Some((executor, event)) => return Err(self.cause(fleet, executor, event)),
            }
        }
        self.course.held_out = Some(whole);
        Ok(())
    }

    /// Counts images that cannot be used. Every epoch meets them again.
    fn skip_once(&mut self, mut broken: Vec<BrokenImage>) -> Result<(), Stop> {
        broken.retain(|image| self.broken.iter().all(|known| known.name != image.name));
        self.skip(broken)
    }

    /// Why the run ends. Where an executor ends early, the others fail by it and may say so first.
    fn cause(&self, fleet: &mut Fleet, executor: usize, event: Event) -> Stop {
        if matches!(event, Event::Report(Report::Failed { .. })) {
            let end = Instant::now() + LOOKING;
            while Instant::now() < end {
                let Some((other, Event::Gone)) = fleet.next(PULSE) else { continue };
                let end = fleet.end_of(other);
                if end.status.is_some_and(|status| !status.success()) {
                    return self.failed_or_out_of_memory(describe(other, self.configuration.executors, &end));
                }
            }
        }
        self.unexpected(fleet, executor, event)
    }
}
