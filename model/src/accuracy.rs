//! The accuracy of a trained CNN by configuration, aggregated over the seeds of whole runs.
//!
//! Only runs that learned from all images of the job in all of its epochs count: a CNN that learned
//! from a sample is less accurate than the job's.

use std::fmt;

use foreglow_numeric::student_t::exceeded_with;
use foreglow_shared::{TrainedAccuracy, format_integer, format_percent};
use serde::{Deserialize, Serialize};

use crate::DecideError;

/// Probability of each side beyond the 95 % interval.
const TAIL: f64 = 0.025;

/// The accuracy of a configuration: its mean over the seeds of whole runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Mean share of correctly classified images, in [0, 1].
    pub mean: f64,
    /// Lower end of the mean's 95 % interval (Student's t); `None` with a single seed.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
    /// Number of seeds.
    pub runs: usize,
    /// Other settings that the accuracy depends on: `on test images, learning rate 0.02, cosine`.
    pub conditions: String,
}

impl Accuracy {
    /// Aggregates the whole runs by number of executors, ascending. The runs are sorted by
    /// [`TrainedAccuracy::order`], as those of a job are. Of several learning rates and schedules,
    /// the one with the highest lower end counts.
    pub fn by_executors(runs: &[TrainedAccuracy], images: u64, epochs: u32) -> Vec<(u32, Self)> {
        let mut known: Vec<(u32, Self)> = Vec::new();
        for alike in runs.chunk_by(|a, b| {
            (a.executors, a.images, a.epochs, &a.conditions) == (b.executors, b.images, b.epochs, &b.conditions)
        }) {
            let first = &alike[0];
            if (first.images, first.epochs) != (images, epochs) {
                continue;
            }
            let accuracy = Self::over(alike);
            match known.last_mut().filter(|(executors, _)| *executors == first.executors) {
                Some((_, best)) if accuracy.rank() > best.rank() => *best = accuracy,
                Some(_) => {}
                None => known.push((first.executors, accuracy)),
            }
        }
        known
    }

    /// Accuracies with an interval come first, then the higher bound.
    fn rank(&self) -> (bool, f64) {
        (self.lower.is_some(), self.bound())
    }

    /// Aggregates runs with equal conditions, sorted by seed. Runs with the same seed are one
    /// observation, because they give the same CNN.
    fn over(runs: &[TrainedAccuracy]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let of_seed = |runs: &[TrainedAccuracy]| mean(&runs.iter().map(|run| run.accuracy).collect::<Vec<f64>>());
        let seeds: Vec<f64> = runs.chunk_by(|a, b| a.seed == b.seed).map(of_seed).collect();
        let (average, count) = (mean(&seeds), seeds.len());
        let half = (count > 1).then(|| {
            let squares: f64 = seeds.iter().map(|seed| (seed - average) * (seed - average)).sum();
            let degrees = (count - 1) as f64;
            exceeded_with(TAIL, degrees) * (squares / degrees / count as f64).sqrt()
        });
        Self {
            mean: average,
            lower: half.map(|half| (average - half).max(0.0)),
            upper: half.map(|half| (average + half).min(1.0)),
            runs: count,
            conditions: runs.first().map(|run| run.conditions.clone()).unwrap_or_default(),
        }
    }

    /// Returns the lower bound of the accuracy: the lower end of the interval, or the only value.
    pub fn bound(&self) -> f64 {
        self.lower.unwrap_or(self.mean)
    }

    /// Whether the accuracy is at least this share.
    pub fn keeps(&self, least: f64) -> bool {
        self.bound() >= least
    }
}

impl fmt::Display for Accuracy {
    /// Writes the mean with its interval: `97.64 % (97.37–97.91 %)`, `97.64 % (1 run)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = format_percent(self.mean * 100.0);
        match self.lower.zip(self.upper) {
            Some((lower, upper)) => write!(f, "{mean} ({:.2}–{})", lower * 100.0, format_percent(upper * 100.0)),
            None => write!(f, "{mean} (1 run)"),
        }
    }
}

/// Checks a minimum accuracy.
pub(crate) fn check_accuracy(least: Option<f64>) -> Result<(), DecideError> {
    match least.filter(|least| !(*least > 0.0 && *least <= 1.0)) {
        Some(least) => Err(DecideError::Accuracy(least)),
        None => Ok(()),
    }
}

/// Why no accuracy of a job is known. `Display` gives a sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccuracyUnknown {
    /// Images of the job.
    images: u64,
    /// The largest number of images of a run that measured its accuracy, if no such run has the
    /// size of the job.
    most_images: Option<u64>,
}

impl AccuracyUnknown {
    /// Returns why the accuracy is unknown; `None` if a whole run has measured it.
    pub fn of(runs: &[TrainedAccuracy], images: u64, epochs: u32) -> Option<Self> {
        let is_whole = |run: &TrainedAccuracy| (run.images, run.epochs) == (images, epochs);
        let most_images = runs.iter().map(|run| run.images).max();
        (!runs.iter().any(is_whole)).then_some(Self { images, most_images })
    }

    /// Whether runs of another size measured their accuracy.
    pub fn is_partial(self) -> bool {
        self.most_images.is_some()
    }
}

impl fmt::Display for AccuracyUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images = format_integer(self.images);
        match self.most_images {
            Some(most) if most != self.images => write!(
                f,
                "the accuracy was measured in runs on at most {} images, which do not tell that of the whole job with {images}",
                format_integer(most)
            )?,
            Some(_) => write!(f, "the accuracy was measured after another number of epochs than the job has")?,
            None => write!(f, "no run measured the accuracy")?,
        }
        write!(f, "; train on all images, --sampling-rate 1, with --validation 10% or --test-images")
    }
}
