//! The time of a whole job.

use foreglow_shared::Curve;

use crate::level::FutureMean;
use crate::parts::{Part, blocks, parts};
use crate::pauses::{Pauses, take_pauses};
use crate::warm_up::warm_up;

/// Probability of the interval.
pub const INTERVAL_PROBABILITY: f64 = 0.9;
/// Intervals of steady work that an extrapolation needs.
const LEAST_PARTS: usize = 3;
/// Blocks of steady work: Schmeiser, "Batch size effects in the analysis of simulation output",
/// Operations Research 30(3), 1982, finds no gain in more than 30.
const MOST_BLOCKS: usize = 24;
/// Time from the last unit of work to the end of the program, as a share of the start-up, and its
/// standard deviation: what was loaded is released, and results are saved. An assumption, because
/// the beginning of a run does not show it.
const ENDING: (f64, f64) = (0.25, 0.25);
/// Longest start-up of which the end is a share, seconds. From 234 runs of MLPerf training 0.7 and
/// 1.0, whose programs start in 8 to 385 s: the end takes 9.7 s in the mean after a start of less
/// than 20 s, of 20 to 60 s, and of 60 to 100 s.
const MOST_STARTUP_OF_ENDING: f64 = 40.0;
/// Standard deviation of the relative difference in speed between the part of a run that was seen
/// and the rest, beyond what the series of its steps shows: 18 runs of six public training programs
/// on a virtual machine without other work have 2.6 to 4.0 % (docs/accuracy.md).
const CHANGE_OF_SPEED: f64 = 0.03;
/// The same beside other work on the machine: 21 runs of these programs beside compilations have 7.1
/// to 7.9 %.
const CHANGE_BESIDE_OTHER_WORK: f64 = 0.075;
/// Standard deviation of ln t between two runs of one job. The mean absolute differences of repeats
/// of eleven jobs of C3O and Bell are 0.012 to 0.17 with a median of 0.037. If they are
/// log-normal with 0.8 for the standard deviation of their logarithm, 90 % of the differences are
/// at most 0.12, as of a normal variable with this deviation.
const BETWEEN_RUNS: f64 = 0.073;

/// The parts of a job, and its time as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeJob {
    /// Time until the first unit of work starts, seconds.
    pub startup_secs: f64,
    /// Time from the last unit of work to the end of the program, seconds; 0 if the work is done.
    pub ending_secs: f64,
    /// Units of work that were slower at the beginning.
    pub warm_up_units: f64,
    /// Time that they took beyond that of steady work, seconds.
    pub warm_up_secs: f64,
    /// Time of a unit of steady work, without pauses, seconds.
    pub secs_per_unit: f64,
    /// Periodic pauses for evaluation or checkpoints.
    pub pauses: Option<Pauses>,
    /// Whether epochs are counted and none has ended yet, so that the evaluations and checkpoints
    /// at their ends are usual ones, not those of the job.
    pub lacks_end_of_epoch: bool,
    /// Time of the whole job, start-up included, seconds.
    pub secs: f64,
    /// Ends of its interval with [`INTERVAL_PROBABILITY`], seconds.
    pub lower_secs: f64,
    /// See `lower_secs`.
    pub upper_secs: f64,
    rest: Rest,
}

/// Why a curve does not tell the time of the whole job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// Too little steady work.
    #[error("the run reported progress {0} times; let it run until it has reported 4 times or more")]
    TooShort(usize),
    /// The whole job is smaller than what the run has done.
    #[error("the run has done {done} {unit}, more than the {whole} of the whole job; give the size of the whole job")]
    Exceeded {
        /// Units done.
        done: f64,
        /// Units of the whole job.
        whole: f64,
        /// Name of the units.
        unit: String,
    },
}

impl WholeJob {
    /// Extrapolates a curve to `whole` units of work.
    ///
    /// # Errors
    /// The curve is too short, or has done more than the whole job.
    pub fn from_curve(curve: &Curve, whole: f64) -> Result<Self, CurveError> {
        let (Some(first), Some(last)) = (curve.points.first(), curve.last()) else {
            return Err(CurveError::TooShort(0));
        };
        if last.1 > whole * (1.0 + 1e-9) {
            return Err(CurveError::Exceeded { done: last.1, whole, unit: curve.unit.clone() });
        }
        let mut parts = parts(&curve.points);
        if parts.len() < LEAST_PARTS {
            return Err(CurveError::TooShort(curve.points.len()));
        }
        let pauses = take_pauses(&mut parts, curve.per_epoch);
        let warm = warm_up(&parts);
        let (warm, steady) = parts.split_at(warm);
        let count = (steady.len() / 2).clamp(3, MOST_BLOCKS);
        let units: f64 = steady.iter().map(|part| part.units).sum();
        let steady_secs: f64 = steady.iter().map(|part| part.secs).sum();
        let secs_per_unit = steady_secs / units;
        let left = (whole - last.1).max(0.0);
        let unended = curve.per_epoch.filter(|units| last.1 <= *units && whole > last.1);
        let usual = unended.map(|units| Pauses::usual_at_the_end_of(units, secs_per_unit));
        let startup_secs = (first.0 - first.1 * secs_per_unit).max(0.0);
        let (pause_secs, pause_error) = pauses.or(usual).map_or((0.0, 0.0), |pauses| pauses.of_rest(last.1, left));
        let ending = if left > 0.0 { startup_secs.min(MOST_STARTUP_OF_ENDING) } else { 0.0 };
        let ending_error = ENDING.1 * ending;
        let change_error = CHANGE_OF_SPEED * secs_per_unit * left;
        let error = (pause_error * pause_error + ending_error * ending_error + change_error * change_error).sqrt();
        let mean = (left > 0.0).then(|| {
            let mean = FutureMean::of(&blocks(steady, count), left * count as f64 / units);
            mean.with_error(error / left)
        });
        let ending_secs = ENDING.0 * ending;
        let rest = Rest { so_far_secs: last.0, left, fixed_secs: pause_secs + ending_secs, secs_per_unit: mean };
        let (secs, (lower_secs, upper_secs)) = (rest.exceeded_with(0.5), rest.interval());
        let warm_up_units: f64 = warm.iter().map(|part| part.units).sum();
        Ok(Self {
            startup_secs,
            ending_secs,
            warm_up_units,
            warm_up_secs: warm.iter().map(|part: &Part| part.secs).sum::<f64>() - warm_up_units * secs_per_unit,
            secs_per_unit,
            pauses,
            lacks_end_of_epoch: unended.is_some(),
            secs,
            lower_secs,
            upper_secs,
            rest,
        })
    }

    /// Returns the job as another run of it, from its start: the interval also has the difference
    /// between two runs, whose memory, placement and machine are not the same.
    pub fn of_another_run(mut self) -> Self {
        self.rest.add_error(BETWEEN_RUNS * self.secs);
        (self.lower_secs, self.upper_secs) = self.rest.interval();
        self
    }

    /// Returns the job on a machine that has other work too, and whose speed therefore changes more.
    #[must_use]
    pub fn beside_other_work(mut self) -> Self {
        let more = CHANGE_BESIDE_OTHER_WORK * CHANGE_BESIDE_OTHER_WORK - CHANGE_OF_SPEED * CHANGE_OF_SPEED;
        self.rest.add_error(more.sqrt() * self.secs_per_unit * self.rest.left);
        (self.lower_secs, self.upper_secs) = self.rest.interval();
        self
    }

    /// Returns the probability that the whole job, start-up included, takes at most `secs`.
    pub fn probability_within(&self, secs: f64) -> f64 {
        self.rest.probability_within(secs)
    }
}

/// The work that is left, with the distribution of its time.
#[derive(Clone, Debug, PartialEq)]
struct Rest {
    /// Time so far, seconds.
    so_far_secs: f64,
    /// Units.
    left: f64,
    /// Time of the pauses that are left and of the end of the program, seconds.
    fixed_secs: f64,
    /// Seconds per unit; `None` if nothing is left.
    secs_per_unit: Option<FutureMean>,
}

impl Rest {
    /// Adds an independent error of the time, with this standard deviation, seconds.
    fn add_error(&mut self, deviation_secs: f64) {
        let per_unit = deviation_secs / self.left.max(f64::MIN_POSITIVE);
        self.secs_per_unit = self.secs_per_unit.take().map(|mean| mean.with_error(per_unit));
    }

    /// Returns the ends of the interval with [`INTERVAL_PROBABILITY`], seconds.
    fn interval(&self) -> (f64, f64) {
        let tail = (1.0 - INTERVAL_PROBABILITY) / 2.0;
        (self.exceeded_with(1.0 - tail), self.exceeded_with(tail))
    }

    /// Returns the time of the whole job that is exceeded with this probability, seconds.
    fn exceeded_with(&self, above: f64) -> f64 {
        let rest = self.secs_per_unit.as_ref().map_or(0.0, |mean| mean.exceeded_with(above) * self.left);
        self.so_far_secs + (rest + self.fixed_secs).max(0.0)
    }

    /// Returns the probability that the whole job takes at most `secs`.
    fn probability_within(&self, secs: f64) -> f64 {
        match &self.secs_per_unit {
            _ if secs < self.so_far_secs => 0.0,
            None => 1.0,
            Some(mean) => 1.0 - mean.probability_above((secs - self.so_far_secs - self.fixed_secs) / self.left),
        }
    }
}

impl Pauses {
    /// Evaluations and checkpoints at the ends of epochs, of which none was seen. An evaluation of
    /// a tenth as many units as the epoch has, without the backward pass, takes about 3 % of its
    /// time; of a quarter as many, and with a slow checkpoint, three times that. These are
    /// assumptions.
    fn usual_at_the_end_of(units: f64, secs_per_unit: f64) -> Self {
        const SHARE: f64 = 0.03;
        const DEVIATION: f64 = 0.05;
        let secs = units * secs_per_unit;
        Self { count: 1, period: units, secs: SHARE * secs, deviation_secs: DEVIATION * secs }
    }

    /// Returns the time of the pauses in the work after `done`, and its standard error, seconds.
    fn of_rest(&self, done: f64, left: f64) -> (f64, f64) {
        // A pause at the very end of the work counts.
        let passed = |units: f64| (units / self.period * (1.0 + 1e-9)).floor();
        let count = passed(done + left) - passed(done);
        let deviation = self.deviation_secs;
        let variance = deviation * deviation * (count + count * count / self.count as f64);
        (count * self.secs, variance.sqrt())
    }
}
