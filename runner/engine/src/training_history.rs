//! The history of a training: loss and accuracy of each epoch, and the quality of the trained CNN.

use foreglow_data::open_held_out;
use foreglow_protocol::EvaluationTotals;
use foreglow_shared::Confusion;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Job, TrainingJob};

/// Limit on the classes for a confusion matrix in a sample, which would be too large.
const MOST_CLASSES: usize = 100;

/// TrainingHistory of a training.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrainingHistory {
    /// Listening ports by executor.
    #[serde(skip)]
    pub(super) ports: Vec<(usize, u16)>,
    epochs: Vec<EpochTally>,
    /// Classes of the validation images, predicted after the last epoch.
    validation: Confusion,
    #[serde(skip)]
    held_out: Option<EvaluationTotals>,
    #[serde(skip)]
    confusion: Confusion,
    /// Epochs that an earlier, interrupted run trained.
    resumed: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EpochTally {
    training: EvaluationTotals,
    /// Images of the epoch so far, including broken ones.
    seen: u64,
    validation: Option<EvaluationTotals>,
}

/// A finished epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Its number, from 1.
    pub number: u64,
    /// Number of all epochs.
    pub of: u32,
    /// Score on the training images during the epoch.
    pub training: Score,
    /// Score on the validation images after the epoch.
    pub validation: Option<Score>,
}

/// Mean loss and accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Mean cross-entropy, nats.
    pub loss: f64,
    /// Share of correctly classified images.
    pub accuracy: f64,
}

impl Score {
    /// Returns the means; NaN without an image, of which neither is known.
    fn of(tally: &EvaluationTotals) -> Self {
        let images = tally.images as f64;
        Self { loss: tally.loss_sum / images, accuracy: tally.correct as f64 / images }
    }
}

impl TrainingHistory {
    /// Records the port on which an executor listens.
    pub fn listens(&mut self, executor: usize, port: u16) {
        self.ports.push((executor, port));
    }

    /// Records training images of an epoch.
    pub fn learn(&mut self, epoch: u64, tally: EvaluationTotals) {
        self.at(epoch).training += tally;
    }

    /// Counts images of an epoch, including broken ones, and returns their number so far.
    pub fn see(&mut self, epoch: u64, images: u64) -> u64 {
        let epoch = self.at(epoch);
        epoch.seen += images;
        epoch.seen
    }

    /// Returns the number of images of all epochs so far, including broken ones.
    pub fn seen(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.seen).sum()
    }

    /// Returns the number of training images so far.
    pub fn images(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.training.images).sum()
    }

    /// Prepares for the validation after an epoch.
    pub fn start_validation(&mut self, epoch: u64) {
        self.at(epoch).validation = Some(EvaluationTotals::default());
        self.validation = Confusion::default();
    }

    /// Records evaluated validation images of an epoch.
    pub fn validate(&mut self, epoch: u64, tally: EvaluationTotals, confusion: &Confusion) {
        *self.at(epoch).validation.get_or_insert_default() += tally;
        self.validation.merge(confusion);
    }

    /// Records evaluated held-out images.
    pub fn judge(&mut self, tally: EvaluationTotals, confusion: &Confusion) {
        *self.held_out.get_or_insert_default() += tally;
        self.confusion.merge(confusion);
    }

    /// Continues the course of an interrupted run, which trained this number of epochs.
    pub fn resume(&mut self, kept: Self, epochs: u32) {
        let ports = std::mem::take(&mut self.ports);
        *self = Self { ports, resumed: Some(epochs), ..kept };
    }

    /// Returns a finished epoch; `of` is the number of all epochs.
    pub fn epoch(&self, epoch: u64, of: u32) -> Option<Epoch> {
        let tally = self.epochs.get(usize::try_from(epoch).ok()?)?;
        let validation = tally.validation.as_ref().filter(|tally| tally.images > 0).map(Score::of);
        Some(Epoch { number: epoch + 1, of, training: Score::of(&tally.training), validation })
    }

    fn at(&mut self, epoch: u64) -> &mut EpochTally {
        let epoch = epoch as usize;
        self.epochs.resize(self.epochs.len().max(epoch + 1), EpochTally::default());
        &mut self.epochs[epoch]
    }

    /// Returns the field of the sample.
    pub fn to_json(&self, training: &TrainingJob, job: &Job) -> Value {
        let settings = &training.settings;
        let epoch = |epoch: &EpochTally| {
            let mut json = score(&epoch.training);
            if let Some(validation) = &epoch.validation {
                json["validation"] = score(validation);
            }
            json
        };
        let mut json = json!({
            "learning_rate": settings.learning_rate,
            "schedule": settings.schedule,
            "optimizer": settings.optimizer,
            "epochs": self.epochs.iter().map(epoch).collect::<Vec<_>>(),
        });
        if let Some(epochs) = self.resumed {
            json["resumed_after_epochs"] = epochs.into();
        }
        if let Some(held_out) = &self.held_out {
            json["held_out"] = score(held_out);
        }
        let source = training.held_out.as_ref().map_or(&job.source, |held_out| &held_out.source);
        let (on, confusion, source) = match self.confusion.is_empty() {
            false => ("held_out", &self.confusion, source),
            true => ("validation", &self.validation, &job.source),
        };
        if let Some([precision, recall, f1]) = confusion.macro_average() {
            json["classification"] = json!({
                "on": on,
                "macro": { "precision": round(precision), "recall": round(recall), "f1": round(f1) },
            });
            let classes = confusion.classes();
            if classes.len() <= MOST_CLASSES {
                let set = open_held_out(&job.source, source).ok();
                let name = |class: u32| set.as_ref().and_then(|set| set.class(class));
                let class = |it: &foreglow_shared::ClassQuality| {
                    json!({
                        "class": it.class,
                        "name": name(it.class),
                        "images": it.images,
                        "precision": round(it.precision),
                        "recall": round(it.recall),
                        "f1": round(it.f1),
                    })
                };
                json["classification"]["classes"] = classes.iter().map(class).collect();
                json["classification"]["confusion"] = json!(confusion);
            }
        }
        json
    }
}

/// Returns mean loss and accuracy. What is not finite, because the training diverged or no image
/// was usable, becomes null.
fn score(tally: &EvaluationTotals) -> Value {
    let Score { loss, accuracy } = Score::of(tally);
    json!({ "images": tally.images, "loss": round(loss), "accuracy": round(accuracy) })
}

fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
