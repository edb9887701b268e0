//! Strong and weak scaling over executors and cores.
//!
//! Strong scaling runs the same images on more slots (E·C): Amdahl, "Validity of the single
//! processor approach to achieving large scale computing capabilities", AFIPS 1967. Weak scaling
//! gives each slot the same images: Gustafson, "Reevaluating Amdahl's law", CACM 31(5), 1988.

use std::sync::Arc;

use foreglow_numeric::median;
use foreglow_shared::{CoreSplit, Job, Observation, Question};
use serde::Serialize;

use crate::{Candidate, DecideError, Interval, Limits, Plan, Prediction, Predictor, Setting, Warning};

/// Relative difference below which two sampling rates are the same.
const SAME_RATE: f64 = 1e-9;

/// Scaling of a job over configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Executors and cores per executor of the reference configuration: the fewest slots with a
    /// known time.
    pub smallest: (u32, u32),
    /// Images that a slot processes in weak scaling: those of the job on the configuration with the
    /// most slots.
    pub images_per_slot: f64,
    /// One row for each configuration, ascending by executors and then cores.
    pub rows: Vec<ScalingRow>,
}

/// Scaling of one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingRow {
    /// The configuration with its prediction for the whole job.
    pub candidate: Candidate,
    /// The whole job.
    pub strong: Gain,
    /// Cost of the whole job ÷ its cost on the smallest configuration; of executor-hours if the
    /// prices do not cover the hardware.
    pub cost_factor: Option<f64>,
    /// The images grow with the slots.
    pub weak: WeakScaling,
}

/// Gain over the smallest configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// Speed-up, predicted; `None` if a time is unknown.
    pub speed_up: Option<f64>,
    /// Interval of the speed-up: lower and upper end. `None` for the smallest configuration itself,
    /// and if a time has no interval.
    pub interval: Option<(f64, f64)>,
    /// Speed-up ÷ ratio of the slots.
    pub efficiency: Option<f64>,
    /// Measured runs of this configuration, if any.
    pub measured: Option<Measured>,
}

/// Runs of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Number of runs.
    pub runs: usize,
    /// Their median completion time, seconds.
    pub completion_time_secs: f64,
    /// Speed-up over the median of the smallest configuration; `None` if that was not measured.
    pub speed_up: Option<f64>,
}

/// Time and gain if each slot processes the same number of images.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakScaling {
    /// Share of the job's images that the configuration processes.
    pub sampling_rate: f64,
    /// The predicted time.
    pub prediction: Prediction,
    /// `speed_up` is the scaled one: efficiency × ratio of the slots.
    pub gain: Gain,
}

/// Returns the speed-up: how many times as fast the job is as on the smallest configuration.
///
/// ```
/// assert_eq!(foreglow_model::speed_up(12.0, 4.0), 3.0);
/// ```
pub fn speed_up(smallest_secs: f64, secs: f64) -> f64 {
    smallest_secs / secs
}

/// Returns the efficiency: the speed-up divided by the ratio of the resources.
///
/// ```
/// assert_eq!(foreglow_model::efficiency(3.0, 4.0), 0.75);
/// ```
pub fn efficiency(speed_up: f64, ratio: f64) -> f64 {
    speed_up / ratio
}

impl Scaling {
    /// Compares the configurations of a question; `None` if no time is known.
    ///
    /// # Errors
    /// [`DecideError`]: there are no configurations, too many, or the prices are invalid.
    pub fn of(predictor: &Arc<Predictor>, job: &Job, question: &Question) -> Result<Option<Self>, DecideError> {
        let plan = Plan::from_context(Arc::clone(predictor), job, question)?;
        let candidates = plan.decide(&Limits::of(question))?.candidates;
        let known = candidates.iter().filter(|candidate| candidate.is_possible());
        let Some(smallest) = known.min_by_key(|candidate| (slots(candidate), candidate.placement.executors)).cloned()
        else {
            return Ok(None);
        };
        let most = candidates.iter().map(slots).max().unwrap_or(1) as f64;
        let weak_rate = |candidate: &Candidate| slots(candidate) as f64 / most;
        let weak = |candidate: &Candidate| predictor.predict(Setting::at(candidate.split(), weak_rate(candidate)));
        let weak_smallest = Timed::of(&smallest, weak(&smallest), weak_rate(&smallest), &job.observations);
        let strong_smallest = Timed::of(&smallest, smallest.prediction.clone(), 1.0, &job.observations);
        let rows = candidates.into_iter().map(|candidate| {
            let ratio = slots(&candidate) as f64 / slots(&smallest) as f64;
            let strong = Timed::of(&candidate, candidate.prediction.clone(), 1.0, &job.observations);
            let rate = weak_rate(&candidate);
            let timed = Timed::of(&candidate, weak(&candidate), rate, &job.observations);
            let weak_gain = timed.gain_over(&weak_smallest, ratio, ratio);
            ScalingRow {
                strong: strong.gain_over(&strong_smallest, 1.0, ratio),
                cost_factor: candidate.objective.zip(smallest.objective).map(|(own, smallest)| own / smallest),
                weak: WeakScaling { sampling_rate: rate, prediction: without_rate(timed.prediction), gain: weak_gain },
                candidate,
            }
        });
        Ok(Some(Self {
            smallest: (smallest.placement.executors, smallest.placement.cores_per_executor),
            images_per_slot: job.context.workload.images as f64 / most,
            rows: rows.collect(),
        }))
    }
}

/// A predicted and a measured time of one configuration.
struct Timed {
    split: CoreSplit,
    prediction: Prediction,
    runs: usize,
    measured_secs: Option<f64>,
}

impl Timed {
    fn of(candidate: &Candidate, prediction: Prediction, sampling_rate: f64, runs: &[Observation]) -> Self {
        let split = candidate.split();
        let is_same =
            |run: &&Observation| run.split() == split && (run.sampling_rate / sampling_rate - 1.0).abs() < SAME_RATE;
        let secs: Vec<f64> = runs.iter().filter(is_same).map(|run| run.completion_time_secs).collect();
        let measured_secs = (!secs.is_empty()).then(|| median(&secs));
        Self { split, prediction, runs: secs.len(), measured_secs }
    }

    /// Returns the gain over the smallest configuration if this one processes `work` times as many
    /// images with `ratio` times as many slots.
    fn gain_over(&self, smallest: &Self, work: f64, ratio: f64) -> Gain {
        let is_smallest = self.split == smallest.split;
        let gained = |from: f64, to: f64| work * speed_up(from, to);
        let secs = smallest.prediction.completion_time_secs.zip(self.prediction.completion_time_secs);
        let own_speed_up = secs.map(|(from, to)| gained(from, to));
        let intervals = smallest.prediction.interval.zip(self.prediction.interval).filter(|_| !is_smallest);
        Gain {
            speed_up: own_speed_up,
            interval: own_speed_up.zip(secs).zip(intervals).map(|((speed_up, secs), intervals)| {
                let (below, above) = spread(secs, intervals);
                (speed_up / below, speed_up * above)
            }),
            efficiency: own_speed_up.map(|speed_up| efficiency(speed_up, ratio)),
            measured: self.measured_secs.map(|completion_time_secs| Measured {
                runs: self.runs,
                completion_time_secs,
                speed_up: smallest.measured_secs.map(|from| gained(from, completion_time_secs)),
            }),
        }
    }
}

/// Returns the factors by which a quotient of two predicted times may be too large and too small.
///
/// The errors of the two count as independent, so that the half-widths on the logarithmic scale add
/// in quadrature. Errors that two configurations share cancel in the quotient, so the interval is
/// too wide rather than too narrow.
fn spread((from, to): (f64, f64), (of_from, of_to): (Interval, Interval)) -> (f64, f64) {
    let width = |upper: f64, lower: f64| libm::log(upper / lower);
    let together = |one: f64, other: f64| libm::exp((one * one + other * other).sqrt());
    let below = together(width(from, of_from.lower_secs), width(of_to.upper_secs, to));
    let above = together(width(of_from.upper_secs, from), width(to, of_to.lower_secs));
    (below, above)
}

/// Removes the warning about a larger sampling rate, because samples are smaller than the job by
/// design.
fn without_rate(mut prediction: Prediction) -> Prediction {
    let name = crate::Feature::SamplingRate.noun();
    prediction
        .warnings
        .retain(|warning| !matches!(warning, Warning::OutsideSampledRange { feature, .. } if feature == name));
    prediction
}

fn slots(candidate: &Candidate) -> u64 {
    candidate.split().slots().into()
}
