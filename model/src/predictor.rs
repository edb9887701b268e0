//! The default predictor: from runs of one job to the completion time at any setting.

use std::sync::Arc;

use foreglow_shared::{Context, CoreSplit, Job, Observation, sort_by};
use serde::{Deserialize, Serialize};

use crate::at_rate::AtRate;
use crate::capacity::{Capacity, meaning_of_executors};
use crate::measured_ratios::MeasuredRatios;
use crate::range::Range;
use crate::rates::Rates;
use crate::runs::{Items, Run, commonest, runs};
use crate::simulated_times::SimulatedTimes;
use crate::work;
use crate::{
    Feature, Features, FitError, Meaning, PartitionSizeUnknown, Prediction, Setting, Spread, TransferredJob, Tuning,
    Warning,
};
use foreglow_predictor::ensemble::{Along, Ensemble, Grid, Surface};

/// Minimum number of distinct settings that fit the processors for oversubscribed runs to be left
/// out.
const ENOUGH_SETTINGS: usize = 3;

/// Foreglow's default predictor: an [`Ensemble`] fitted to the runs of one job, with the meaning of
/// its features. Its JSON includes the cached fits.
///
/// ```
/// # use foreglow_model::{Predictor, Setting};
/// # use foreglow_shared::{Context, Observation};
/// # let context: Context = serde_json::from_str(r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,
/// # "images":1000,"epochs":1,"batch_size":8},"engine":"local","host":{}}"#).unwrap();
/// // Rows of a link: E, C, memory in MiB, P, SR, seconds, start-up seconds.
/// let observations: Vec<Observation> = serde_json::from_str(
///     "[[1,1,1024,8,0.01,2.0,null],[1,1,1024,8,0.1,11.0,null],[2,1,1024,8,0.01,1.0,null],[2,1,1024,8,0.1,5.5,null]]",
/// ).unwrap();
/// let predictor = Predictor::fit(&context, &observations).unwrap();
/// let whole = predictor.predict(Setting::even(1, 1, 1.0));
/// assert!((whole.completion_time_secs.unwrap() - 101.0).abs() < 10.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    pub(crate) ensemble: Ensemble,
    pub(crate) items: Items,
    rates: Rates,
    pub(crate) range: Range,
    pub(crate) capacity: Option<Capacity>,
    #[serde(default)]
    pub(crate) measured_ratios: MeasuredRatios,
    /// Additional error of the transfer, for a CNN that was never run.
    #[serde(default)]
    uncertainty: Option<Spread>,
    /// Error of the times of a single setting that were extrapolated from progress.
    extrapolation: Option<Spread>,
    /// Two settings whose times were extrapolated from the progress of one run each, and their
    /// spread, because none of them can be held out.
    #[serde(default)]
    two_by_progress: Option<(Vec<Setting>, Spread)>,
    /// Whether all runs are of the whole job, some by their progress: a part of it then takes its
    /// share of the time.
    #[serde(default)]
    is_proportional: bool,
    /// Times from the event logs of all runs, which take the place of the fit.
    #[serde(default)]
    simulated: Option<SimulatedTimes>,
}

impl Predictor {
    /// Name in comparisons.
    pub const NAME: &str = "foreglow";

    /// Fits the completed runs of one context, samples and whole jobs. The order of the runs
    /// changes nothing, and multiplying all times by k multiplies every prediction by k.
    ///
    /// # Errors
    /// [`FitError`]: says what is wrong or missing, and what to collect.
    pub fn fit(context: &Context, observations: &[Observation]) -> Result<Self, FitError> {
        Self::fit_job(&Job::of_runs(context.clone(), observations.to_vec()))
    }

    /// Fits the measurements of one job; stopped runs are lower bounds.
    ///
    /// On one machine, oversubscribed runs are left out of the fit if the other runs vary in the
    /// same features. They then only correct the predictions of their own configurations.
    ///
    /// # Errors
    /// [`FitError`]: says what is wrong or missing, and what to collect.
    pub fn fit_job(job: &Job) -> Result<Self, FitError> {
        Self::fit_tuned(job, Tuning::default())
    }

    /// Fits a job that was transferred from other CNNs; the intervals include the errors of the
    /// transfer.
    ///
    /// # Errors
    /// [`FitError`]: says what is wrong or missing, and what to collect.
    pub fn fit_transferred(transferred: &TransferredJob) -> Result<Self, FitError> {
        let predictor = Self::fit_job(&transferred.job)?;
        Ok(Self { uncertainty: Some(transferred.uncertainty.clone()), ..predictor })
    }

    /// Fits like [`Predictor::fit_job`], with other constants.
    ///
    /// # Errors
    /// [`FitError`]: says what is wrong or missing, and what to collect.
    pub fn fit_tuned(job: &Job, tuning: Tuning) -> Result<Self, FitError> {
        let mut all = runs(job)?;
        let simulated = SimulatedTimes::of(job);
        match job.observations.as_slice() {
            [] if all.is_empty() => return Err(FitError::NoObservations),
            // A run of the whole job tells the time of its own configuration, an event log also
            // those of others.
            [first, ..] if first.sampling_rate >= 1.0 || simulated.is_some() => {}
            [_] => return Err(FitError::OneObservation),
            [first, others @ ..] if others.iter().all(|run| Setting::of(run) == Setting::of(first)) => {
                return Err(FitError::AllEqual { runs: job.observations.len(), setting: Setting::of(first) });
            }
            _ => {}
        }
        if simulated.is_none() {
            work::check(job)?;
        }
        let capacity = Capacity::of(&job.context);
        let kept = within(capacity, &all);
        let items = Items::of(&kept);
        let table = items.table(&kept)?;
        let known = [
            (Feature::SamplingRate.noun(), Meaning::Work),
            (Feature::InverseExecutors.noun(), meaning_of_executors(&job.context)),
            (Feature::InverseCores.noun(), Meaning::Workers),
        ];
        let ensemble = Ensemble::fit_tuned(&table, &known, tuning)?;
        let rates = Rates::of(kept.iter().map(|run| run.setting.sampling_rate));
        let range = Range::of(kept.iter().map(|run| run.setting)).ok_or(FitError::NoObservations)?;
        let measured_ratios = MeasuredRatios::default();
        let mut bound = Self {
            ensemble,
            items,
            rates,
            range,
            capacity,
            measured_ratios,
            uncertainty: None,
            extrapolation: extrapolation(job),
            two_by_progress: two_by_progress(job),
            is_proportional: job.observations.iter().all(|run| run.sampling_rate >= 1.0)
                && job.observations.iter().any(|run| run.log_error > 0.0),
            simulated,
        };
        // If no oversubscribed run was left out, the ensemble has learned from them, and the bound
        // needs no correction.
        let has_bound = |run: &Observation| {
            let setting = Setting::of(run);
            kept.len() < all.len() && capacity.is_some_and(|capacity| capacity.is_exceeded_by(setting))
        };
        let beyond: Vec<Observation> = job.observations.iter().filter(|run| has_bound(run)).copied().collect();
        bound.measured_ratios = MeasuredRatios::of(&beyond, |setting| bound.predict(setting).completion_time_secs);
        if kept.len() < all.len() {
            all.retain(|run| capacity.is_some_and(|capacity| capacity.is_exceeded_by(run.setting)));
            bound.ensemble.add_bounds(&bound.items.table(&all)?);
        }
        Ok(bound)
    }

    /// Predicts with this partition size instead of that of most runs of the job.
    ///
    /// # Errors
    /// [`PartitionSizeUnknown`]: the size differs, and the runs do not show its effect.
    pub fn with_partition_size(mut self, job: &Job, partition_size: u32) -> Result<Self, PartitionSizeUnknown> {
        let is_usual = self.partition_size(job) == Some(partition_size);
        if self.assume_partition_size(partition_size) || is_usual { Ok(self) } else { Err(PartitionSizeUnknown) }
    }

    /// Returns the partition size of the predictions; `None` without runs.
    pub fn partition_size(&self, job: &Job) -> Option<u32> {
        let most = || commonest(job.observations.iter().map(|run| f64::from(run.partition_size)).collect()) as u32;
        self.items.partition_size().or_else(|| (!job.observations.is_empty()).then(most))
    }

    /// Predicts with another partition size than that of most runs. Returns false, and changes
    /// nothing, if the runs do not show its effect.
    pub(crate) fn assume_partition_size(&mut self, partition_size: u32) -> bool {
        self.items.assume_partition_size(partition_size)
    }

    /// Predicts the completion time of a setting. More images never take less time.
    ///
    /// Never panics: if the samples do not determine a time, it is `None` and a warning says why.
    pub fn predict(&self, setting: Setting) -> Prediction {
        self.at_rate(setting.sampling_rate).predict(setting.split())
    }

    /// Returns [`Predictor::predict`] for the whole job (sampling rate 1) on each configuration, E
    /// and C. Faster if many of them are oversubscribed, because they share their bounds.
    pub fn predict_whole_job(&self, configurations: &[(u32, u32)]) -> Vec<Prediction> {
        let mut whole_job = self.at_rate(1.0);
        configurations.iter().map(|(executors, cores)| whole_job.predict(CoreSplit::even(*executors, *cores))).collect()
    }

    pub(crate) fn at_rate(&self, sampling_rate: f64) -> AtRate<'_> {
        self.at_rate_with(&self.items, sampling_rate)
    }

    /// Like [`Predictor::at_rate`], with the partition size that these features assume.
    pub(crate) fn at_rate_with<'a>(&'a self, items: &'a Items, sampling_rate: f64) -> AtRate<'a> {
        AtRate::new(self, items, sampling_rate)
    }

    /// Returns the warnings that apply to every prediction: samples that disagree, and samples that
    /// were not fitted.
    pub fn warnings(&self) -> Vec<Warning> {
        self.about_own_runs(self.ensemble.warnings())
    }

    /// Returns the warnings about runs that contradict each other; they need no further fit.
    pub fn contradictions(&self) -> Vec<Warning> {
        self.about_own_runs(self.ensemble.contradictions())
    }

    /// Whether the runs were transferred from other CNNs.
    pub(crate) fn is_transferred(&self) -> bool {
        self.uncertainty.is_some()
    }

    /// Whether the times are from the event logs of the runs.
    pub fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// Drops the warnings about samples of a CNN that was never run: their times are computed from
    /// those of other CNNs.
    fn about_own_runs(&self, mut warnings: Vec<Warning>) -> Vec<Warning> {
        warnings.retain(|warning| self.uncertainty.is_none() || !warning.names_samples());
        warnings
    }

    /// Computes in advance the fits that these settings need.
    pub fn prepare(&self, settings: &[Setting]) {
        settings.iter().for_each(|setting| drop(self.predict(*setting)));
    }

    /// Returns [`Predictor::predict`] for the whole job (sampling rate 1) on a grid of numbers of
    /// executors and of cores, both ascending, for the settings that are not oversubscribed
    /// ([`Predictor::predicted_alone`]). `None` if such a grid cannot be predicted at once; each
    /// setting must then be predicted separately.
    pub(crate) fn surface(&self, executors: &[u32], cores: &[u32]) -> Option<Surface> {
        self.ensemble.surface(&self.grid(executors, cores)?)
    }

    /// Returns [`Predictor::surface`] and caches the last one.
    pub(crate) fn kept_surface(&self, executors: &[u32], cores: &[u32]) -> Option<Arc<Surface>> {
        self.ensemble.kept_surface(self.grid(executors, cores)?)
    }

    fn grid(&self, executors: &[u32], cores: &[u32]) -> Option<Grid> {
        // A surface holds only the spread of the ensemble.
        let has_other_times = self.simulated.is_some() || self.two_by_progress.is_some();
        if has_other_times || self.uncertainty.is_some() || self.extrapolation.is_some() {
            return None;
        }
        let first = Setting::even(*executors.first()?, *cores.first()?, 1.0);
        let along = |feature: Feature, counts: &[u32]| Along {
            name: feature.noun(),
            values: counts.iter().copied().map(f64::from).collect(),
        };
        Some(Grid {
            question: self.items.questions(&[first]).ok()?,
            down: along(Feature::InverseExecutors, executors),
            across: along(Feature::InverseCores, cores),
            widths: executors.iter().map(|executors| self.predicted_alone(*executors, cores)).collect(),
        })
    }

    /// Returns the configurations of equal executors, E and C, whose spread the surface of a grid
    /// does not hold.
    pub(crate) fn configurations_with_own_spread(&self) -> impl Iterator<Item = (u32, u32)> {
        let settings = self.ensemble.rows_with_own_spread().filter_map(|numeric| self.items.setting(numeric));
        settings.filter_map(|setting| setting.split().equal_counts())
    }

    /// Returns the numbers of executors and of cores that can be predicted: all, or only the
    /// measured one if the runs never varied it and have no event logs.
    pub(crate) fn answerable(&self, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        if self.simulated.is_some() {
            return (executors.to_vec(), cores.to_vec());
        }
        let of = |counts: &[u32], measured: (u32, u32)| {
            counts.iter().copied().filter(|count| Range::shows(measured, *count)).collect()
        };
        (of(executors, self.range.executors), of(cores, self.range.cores))
    }

    /// Returns how many of these numbers of cores, in ascending order, have a prediction of their
    /// own with this number of executors. With more cores the machine is oversubscribed, and a
    /// smaller configuration is predicted instead.
    pub(crate) fn predicted_alone(&self, executors: u32, cores: &[u32]) -> usize {
        let Some(capacity) = self.capacity else { return cores.len() };
        cores.partition_point(|cores_per_executor| {
            let setting = Setting::even(executors, *cores_per_executor, 1.0);
            !(capacity.is_exceeded_by(setting) && capacity.has_fitting(&self.range, setting))
        })
    }

    /// Applies the lower bounds of stopped runs to the prediction of these valid features.
    pub(crate) fn bound(&self, asked: &Features, prediction: &mut Prediction) {
        drop(self.ensemble.bound(asked, std::slice::from_mut(prediction)));
    }

    /// Predicts as if the machine had enough processors, with the partition size that these
    /// features assume.
    pub(crate) fn unlimited_with(&self, items: &Items, setting: Setting) -> Prediction {
        if let Some(simulated) = &self.simulated {
            return simulated.predict(setting);
        }
        if self.is_proportional && setting.sampling_rate < 1.0 {
            let mut prediction = self.unlimited_with(items, Setting { sampling_rate: 1.0, ..setting });
            prediction.scale(setting.sampling_rate);
            return prediction;
        }
        let places = self.rates.places(setting.sampling_rate);
        let at = |sampling_rate: f64| Setting { sampling_rate, ..setting };
        let asked: Vec<Setting> = std::iter::once(setting).chain(places.iter().map(|rate| at(*rate))).collect();
        let answers = items.questions(&asked).and_then(|asked| Ok((self.ensemble.predict(&asked)?, asked)));
        let Ok((answers, questions)) = answers else { return Prediction::unknown(vec![Warning::NotPositive]) };
        let mut answers = answers.into_iter();
        let Some(mut prediction) = answers.next() else { return Prediction::unknown(vec![Warning::NotPositive]) };
        // Samples are collected to predict larger sampling rates, so this needs no warning.
        prediction.warnings.retain(|warning| match warning {
            Warning::OutsideSampledRange { feature, asked, largest, .. } => {
                !(feature == Feature::SamplingRate.noun() && asked > largest)
            }
            _ => true,
        });
        let times: Option<Vec<f64>> = answers.map(|answer| answer.completion_time_secs).collect();
        if let (Some(secs), Some(times)) = (prediction.completion_time_secs, times) {
            prediction.scale(self.rates.rising(setting.sampling_rate, &places, &times, secs) / secs);
            self.bound(&questions, &mut prediction);
        }
        for uncertainty in self.uncertainty.iter().chain(&self.extrapolation) {
            prediction.widen(uncertainty);
        }
        if let (Some((settings, spread)), Some(secs)) = (&self.two_by_progress, prediction.completion_time_secs)
            && settings.contains(&setting)
            && let Some(own) = Prediction::of_log(libm::log(secs), Some(spread.clone()))
        {
            return Prediction { warnings: prediction.warnings, ..own };
        }
        prediction
    }
}

/// Degrees of freedom of the error of an extrapolated time.
const DEGREES_OF_EXTRAPOLATION: f64 = 5.0;

/// Returns the error of the mean of extrapolated times, if all runs have one setting: runs of other
/// settings, which are held out, show it too. `None` if the times were measured.
fn extrapolation(job: &Job) -> Option<Spread> {
    let (first, others) = job.observations.split_first()?;
    let is_single = others.iter().all(|run| Setting::of(run) == Setting::of(first));
    extrapolation_error(&job.observations, job.observations.len()).filter(|_| is_single)
}

/// Returns two settings with one run each, both extrapolated from progress, and the spread of
/// another run of them.
fn two_by_progress(job: &Job) -> Option<(Vec<Setting>, Spread)> {
    let [first, second] = job.observations.as_slice() else { return None };
    let settings = [first, second].map(Setting::of).to_vec();
    let are_by_progress = first.log_error > 0.0 && second.log_error > 0.0 && settings[0] != settings[1];
    let spread = Spread::of_another_run().with(&extrapolation_error(&job.observations, 1)?)?;
    are_by_progress.then_some((settings, spread))
}

/// Returns the error of the mean of `repeats` extrapolated times; `None` if they were measured.
fn extrapolation_error(runs: &[Observation], repeats: usize) -> Option<Spread> {
    let squares: f64 = runs.iter().map(|run| run.log_error * run.log_error).sum();
    let error = (squares / runs.len() as f64 / repeats as f64).sqrt();
    Spread::student_t(error, DEGREES_OF_EXTRAPOLATION).ok().filter(|_| error > 0.0)
}

/// Returns the runs that fit the machine's processors, or all runs if those do not suffice or do
/// not vary in the same features.
fn within(capacity: Option<Capacity>, runs: &[Run]) -> Vec<Run> {
    let Some(capacity) = capacity else { return runs.to_vec() };
    let kept: Vec<Run> = runs.iter().filter(|run| !capacity.is_exceeded_by(run.setting)).copied().collect();
    let varies = |runs: &[Run], feature: Feature| {
        runs.iter().any(|run| feature.value(run.setting) != feature.value(runs[0].setting))
    };
    let mut settings: Vec<Setting> = kept.iter().map(|run| run.setting).collect();
    sort_by(&mut settings, Setting::order);
    settings.dedup();
    let suffices = settings.len() >= ENOUGH_SETTINGS
        && Feature::ALL.iter().all(|feature| !varies(runs, *feature) || varies(&kept, *feature))
        && kept.iter().any(|run| run.completed());
    if suffices { kept } else { runs.to_vec() }
}
