//! The predictor: from runs of one job to the time at any setting.

use std::sync::Arc;

use foreglow_shared::{Context, Job, Observation, sort_by};
use serde::{Deserialize, Serialize};

use crate::at_rate::AtRate;
use crate::capacity::Capacity;
use crate::ensemble::{Along, Ensemble, Grid, Surface};
use crate::measured_ratios::MeasuredRatios;
use crate::range::Range;
use crate::rates::Rates;
use crate::runs::{Items, Run, runs};
use crate::{Feature, FitError, Meaning, Prediction, Setting, Tuning, Warning};

/// Distinct settings that must be left for runs with more task threads than processors to be passed
/// over.
const ENOUGH_SETTINGS: usize = 3;

/// Foreglow's own predictor: an [`Ensemble`] of the runs of one job, with what is known of jobs. It
/// travels as JSON with what it has fitted so far.
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
/// let whole = predictor.predict(Setting { executors: 1, cores_per_executor: 1, sampling_rate: 1.0 });
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
}

impl Predictor {
    /// What it is called where predictors are compared.
    pub const NAME: &str = "foreglow";

    /// Fits the completed runs of one context, those over samples of the images and those over all
    /// of them. The order of the runs changes nothing, and all times k times as long make
    /// predictions k times as long.
    ///
    /// # Errors
    /// [`FitError`] says what is wrong or missing, and what to collect.
    pub fn fit(context: &Context, observations: &[Observation]) -> Result<Self, FitError> {
        Self::fit_job(&Job {
            context: context.clone(),
            observations: observations.to_vec(),
            incomplete: Vec::new(),
            peaks: Vec::new(),
        })
    }

    /// Fits what was measured of one job; runs that were stopped at a limit are lower bounds.
    ///
    /// On one machine, runs with more task threads than processors are left out wherever the others
    /// vary in all that these do: then they answer for their own configurations alone.
    ///
    /// # Errors
    /// [`FitError`] says what is wrong or missing, and what to collect.
    pub fn fit_job(job: &Job) -> Result<Self, FitError> {
        Self::fit_tuned(job, Tuning::default())
    }

    /// As [`Predictor::fit_job`], with other constants than the chosen ones.
    ///
    /// # Errors
    /// [`FitError`] says what is wrong or missing, and what to collect.
    pub fn fit_tuned(job: &Job, tuning: Tuning) -> Result<Self, FitError> {
        let all = runs(job)?;
        match job.observations.as_slice() {
            [] if all.is_empty() => return Err(FitError::NoObservations),
            [_] => return Err(FitError::OneObservation),
            [first, others @ ..] if others.iter().all(|run| Setting::of(run) == Setting::of(first)) => {
                return Err(FitError::AllEqual { runs: job.observations.len(), setting: Setting::of(first) });
            }
            _ => {}
        }
        let capacity = Capacity::of(&job.context);
        let kept = within(capacity, &all);
        let items = Items::of(&kept);
        let table = items.table(&kept)?;
        let known = [
            (Feature::SamplingRate.noun(), Meaning::Work),
            (Feature::InverseExecutors.noun(), Meaning::Workers),
            (Feature::InverseCores.noun(), Meaning::Workers),
        ];
        let ensemble = Ensemble::fit_tuned(&table, &known, tuning)?;
        let rates = Rates::of(kept.iter().map(|run| run.setting.sampling_rate));
        let range = Range::of(kept.iter().map(|run| run.setting)).ok_or(FitError::NoObservations)?;
        let measured_ratios = MeasuredRatios::default();
        let bound = Self { ensemble, items, rates, range, capacity, measured_ratios };
        // Without runs that fit there is no bound, and the ensemble has learned from the others
        // itself.
        let has_bound = |run: &Observation| {
            let setting = Setting::of(run);
            kept.len() < all.len() && capacity.is_some_and(|capacity| capacity.is_exceeded_by(setting))
        };
        let beyond: Vec<Observation> = job.observations.iter().filter(|run| has_bound(run)).copied().collect();
        let measured_ratios = MeasuredRatios::of(&beyond, |setting| bound.predict(setting).completion_time_secs);
        Ok(Self { measured_ratios, ..bound })
    }

    /// Predicts the completion time of a setting. More images never take less time.
    ///
    /// Never panics: where the samples cannot say, the time is `None` and a warning tells why.
    pub fn predict(&self, setting: Setting) -> Prediction {
        let Setting { executors, cores_per_executor, sampling_rate } = setting;
        self.at_rate(sampling_rate).predict(executors, cores_per_executor)
    }

    /// What [`Predictor::predict`] says of the whole job (sampling rate 1) on each configuration, E
    /// and C, and sooner where a machine has too few processors for many of them.
    pub fn predict_whole_job(&self, configurations: &[(u32, u32)]) -> Vec<Prediction> {
        let mut whole_job = self.at_rate(1.0);
        configurations.iter().map(|(executors, cores)| whole_job.predict(*executors, *cores)).collect()
    }

    pub(crate) fn at_rate(&self, sampling_rate: f64) -> AtRate<'_> {
        AtRate::new(self, sampling_rate)
    }

    /// Warnings that hold for every prediction: samples that disagree, and samples that were not
    /// fitted.
    pub fn warnings(&self) -> Vec<Warning> {
        self.ensemble.warnings()
    }

    /// Warnings about runs that contradict each other; they need no further fit.
    pub fn contradictions(&self) -> Vec<Warning> {
        self.ensemble.contradictions()
    }

    /// Fits ahead what these settings need.
    pub fn prepare(&self, settings: &[Setting]) {
        settings.iter().for_each(|setting| drop(self.predict(*setting)));
    }

    /// What [`Predictor::predict`] gives for the whole job (sampling rate 1) on every pair of
    /// numbers of executors and of cores, each ascending, that is predicted by itself
    /// ([`Predictor::predicted_alone`]). `None` where whole parts of such a grid cannot be
    /// predicted at once: then each setting has to be asked for by itself.
    pub(crate) fn surface(&self, executors: &[u32], cores: &[u32]) -> Option<Surface> {
        self.ensemble.surface(&self.grid(executors, cores)?)
    }

    /// As [`Predictor::surface`], kept for the next time.
    pub(crate) fn kept_surface(&self, executors: &[u32], cores: &[u32]) -> Option<Arc<Surface>> {
        self.ensemble.kept_surface(self.grid(executors, cores)?)
    }

    fn grid(&self, executors: &[u32], cores: &[u32]) -> Option<Grid> {
        let first = Setting { executors: *executors.first()?, cores_per_executor: *cores.first()?, sampling_rate: 1.0 };
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

    /// Those of some numbers of executors, and of some numbers of cores, that can be predicted:
    /// all, but of a count that the runs never varied the measured one alone.
    pub(crate) fn answerable(&self, executors: &[u32], cores: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let of = |counts: &[u32], (fewest, most): (u32, u32)| {
            counts.iter().copied().filter(|count| fewest < most || *count == most).collect()
        };
        (of(executors, self.range.executors), of(cores, self.range.cores))
    }

    /// Of some numbers of cores, ascending, how many a number of executors is predicted with by
    /// itself; with more cores a machine has too few processors, and something smaller is predicted
    /// in its place.
    pub(crate) fn predicted_alone(&self, executors: u32, cores: &[u32]) -> usize {
        let Some(capacity) = self.capacity else { return cores.len() };
        cores.partition_point(|cores_per_executor| {
            let setting = Setting { executors, cores_per_executor: *cores_per_executor, sampling_rate: 1.0 };
            !(capacity.is_exceeded_by(setting) && capacity.has_fitting(&self.range, setting))
        })
    }

    /// The prediction as if a machine had processors for all.
    pub(crate) fn unlimited(&self, setting: Setting) -> Prediction {
        let places = self.rates.places(setting.sampling_rate);
        let at = |sampling_rate: f64| Setting { sampling_rate, ..setting };
        let asked: Vec<Setting> = std::iter::once(setting).chain(places.iter().map(|rate| at(*rate))).collect();
        let answers = self.items.questions(&asked).and_then(|questions| self.ensemble.predict(&questions));
        let mut answers = answers.unwrap_or_default().into_iter();
        let Some(mut prediction) = answers.next() else { return Prediction::unknown(vec![Warning::NotPositive]) };
        // A larger sampling rate than the sampled ones is what samples are collected for, and no
        // cause for a warning.
        prediction.warnings.retain(|warning| match warning {
            Warning::OutsideSampledRange { feature, asked, largest, .. } => {
                !(feature == Feature::SamplingRate.noun() && asked > largest)
            }
            _ => true,
        });
        let times: Option<Vec<f64>> = answers.map(|answer| answer.completion_time_secs).collect();
        if let (Some(secs), Some(times)) = (prediction.completion_time_secs, times) {
            prediction.scale(self.rates.rising(setting.sampling_rate, &places, &times, secs) / secs);
        }
        prediction
    }
}

/// The runs that a machine has the processors for, where these still vary in all that the whole
/// does.
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
