//! One predictor over all configurations of a job: machine types, engines, accelerators and batch
//! sizes as well as executors and cores.
//!
//! An [`Arm`] has the choices of a user besides E and C: a machine type with its engine,
//! accelerator, batch size, averaging interval and partition size. For an arm with enough runs, a
//! [`Predictor`] is fitted to its runs alone. For the others, one [`TablePredictor`] is fitted to
//! all runs of all arms and to those of other jobs on the same machine types; the machine type is a
//! category.

mod arm_predictor;
mod arms;
mod choices;
mod columns;

use std::sync::{Arc, OnceLock};

use foreglow_shared::{Context, CoreSplit, Job, JobDefinition, JobGroup, TrainedAccuracy, distinct};

pub(crate) use self::arm_predictor::ArmPredictor;
pub(crate) use self::arms::FittedArm;
pub use self::arms::{Arm, Basis, SizesFrom};
use self::arms::{arms, check_count, with_each_size};
use self::choices::between;
use self::columns::Columns;
use crate::chance::{stopped_secs, within};
use crate::runs::check;
use crate::{
    Accuracy, AccuracyUnknown, Dataset, FitError, Placement, Prediction, Predictor, PublicAnswer, Setting,
    TablePredictor, Tuning, Warning,
};

/// Number of distinct settings from which on an arm is predicted from its own runs alone.
const ENOUGH_SETTINGS: usize = 6;
/// Number of arms above which an arm needs more settings for that: the runs of many others show the
/// law better than a few own ones, and each fit of its own takes time.
const MANY_ARMS: usize = 30;
const ENOUGH_SETTINGS_OF_MANY: usize = 12;

/// A predictor over all configurations of a job.
///
/// ```
/// # use foreglow_model::JointPredictor;
/// # use foreglow_shared::{Context, Job, JobDefinition, JobGroup};
/// # let job = |machine: &str, rows: &str| {
/// #     let mut context: Context = serde_json::from_str(r#"{"workload":{"model":"lenet5",
/// #     "mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
/// #     "engine":"local","host":{}}"#).unwrap();
/// #     context.host.machine = Some(machine.into());
/// #     let observations = serde_json::from_str(rows).unwrap();
/// #     Job::of_runs(context, observations)
/// # };
/// // Rows of a link: E, C, memory in MiB, P, SR, seconds, start-up seconds.
/// let slow = job("slow", "[[1,1,512,8,0.1,11.0,null],[1,1,512,8,0.2,21.0,null],
///     [2,1,512,8,0.1,5.6,null],[2,1,512,8,0.2,10.6,null],[4,1,512,8,0.1,2.9,null],
///     [4,1,512,8,0.2,5.4,null]]");
/// // The new machine type has two runs, both with one executor.
/// let fast = job("fast", "[[1,1,512,8,0.1,5.51,null],[1,1,512,8,0.2,10.52,null]]");
/// let definition = JobDefinition::of(&slow.context);
/// let group = JobGroup { definition, jobs: vec![slow, fast], lenders: Vec::new() };
/// let joint = JointPredictor::fit(&group).unwrap();
/// let fast = joint.arms().iter().position(|arm| arm.machine == "fast").unwrap();
/// let secs = joint.predict(fast, 4, 1).completion_time_secs.unwrap();
/// assert!((secs / 13.0 - 1.0).abs() < 0.25, "{secs}");
/// ```
#[derive(Clone, Debug)]
pub struct JointPredictor {
    definition: JobDefinition,
    /// Why the accuracy of the job is unknown; `None` if it is known.
    accuracy_unknown: Option<AccuracyUnknown>,
    arms: Vec<Arm>,
    fitted: Vec<FittedArm>,
    /// The machine types on which the job ran, with or without success.
    tried: Vec<String>,
    tuning: Tuning,
    /// All runs as one table; `None` if there is a single arm or no completed run.
    table: Option<(Columns, Dataset)>,
    /// The fit of the table, computed at its first use.
    joint: OnceLock<Option<TablePredictor>>,
}

impl JointPredictor {
    /// Fits the runs of a job on all its configurations, for the images and epochs of the group's
    /// definition.
    ///
    /// # Errors
    /// [`FitError`]: no run completed, a run has an invalid value, or there are too many arms.
    pub fn fit(group: &JobGroup) -> Result<Self, FitError> {
        let observations = || group.jobs.iter().flat_map(|job| &job.observations);
        observations().try_for_each(check)?;
        group.lenders.iter().flat_map(|job| &job.observations).try_for_each(check)?;
        if observations().next().is_none() {
            return Err(FitError::NoObservations);
        }
        check_count(group)?;
        let mut fitted = arms(group);
        let is_alone = fitted.iter().filter(|arm| !arm.has_only_exceeded).count() == 1;
        let has_many_arms = fitted.len() > MANY_ARMS;
        let enough = if has_many_arms { ENOUGH_SETTINGS_OF_MANY } else { ENOUGH_SETTINGS };
        let tuning = Tuning { is_brief: has_many_arms, ..Tuning::default() };
        // One setting of each arm: nothing else shows the effect of a machine type or of a count.
        let measured = || fitted.iter().filter(|arm| !arm.job.observations.is_empty());
        let are_single = measured().all(|arm| distinct_settings(&arm.job) == 1);
        for arm in &mut fitted {
            if are_single
                && !is_alone
                && let Ok(own) = Predictor::fit_tuned(&arm.job, tuning)
            {
                arm.take_predictor(Arc::new(own));
            } else if is_alone || arm.job.is_logged() || distinct_settings(&arm.job) >= enough {
                match Predictor::fit_tuned(&arm.job, tuning) {
                    Ok(own) => arm.take_predictor(Arc::new(own)),
                    Err(error) => arm.unfit = Some(error),
                }
            }
        }
        let are_apart = are_single || fitted.iter().all(|arm| arm.job.is_logged());
        let is_settled = is_alone || are_apart && fitted.iter().all(|arm| arm.own.is_some());
        let table = if is_settled { None } else { Columns::of(group) };
        let definition = group.definition.clone();
        let accuracies: Vec<TrainedAccuracy> =
            group.jobs.iter().flat_map(|job| job.accuracies.iter().cloned()).collect();
        let accuracy_unknown = AccuracyUnknown::of(&accuracies, definition.images, definition.epochs);
        let (arms, joint_of_all) = (Vec::new(), OnceLock::new());
        let tried = distinct(group.jobs.iter().map(|job| job.context.machine_name()));
        let joint =
            Self { definition, accuracy_unknown, arms, fitted: Vec::new(), tried, tuning, table, joint: joint_of_all };
        let has_column = joint.has_partition_size();
        Ok(joint.with_arms(with_each_size(fitted, has_column)))
    }

    /// Returns the predictor of a single context that a fitted predictor answers for.
    pub fn from_predictor(predictor: impl Into<Arc<Predictor>>, job: &Job) -> Self {
        let definition = JobDefinition::of(&job.context);
        let group = JobGroup { definition: definition.clone(), jobs: vec![job.clone()], lenders: Vec::new() };
        let predictor = predictor.into();
        let mut fitted = arms(&group);
        fitted.iter_mut().for_each(|arm| arm.take_predictor(Arc::clone(&predictor)));
        let accuracy_unknown = AccuracyUnknown::of(&job.accuracies, definition.images, definition.epochs);
        Self { accuracy_unknown, ..Self::without_runs(definition) }.with_arms(fitted)
    }

    /// Returns a predictor without arms and without a fit of runs.
    fn without_runs(definition: JobDefinition) -> Self {
        Self {
            definition,
            accuracy_unknown: None,
            arms: Vec::new(),
            fitted: Vec::new(),
            tried: Vec::new(),
            tuning: Tuning::default(),
            table: None,
            joint: OnceLock::new(),
        }
    }

    /// Returns the predictor of a job without runs, from public measurements; `None` if no machine
    /// type can run it.
    pub fn from_public(answer: PublicAnswer) -> Option<Self> {
        let empty = Self::without_runs(JobDefinition::of(&answer.arms.first()?.context));
        Some(empty.with_arms(answer.arms.into_iter().map(FittedArm::from_public).collect()))
    }

    /// Adds machine types without runs, whose times are from public measurements, to the arms of a
    /// group.
    pub fn with_public(mut self, group: &JobGroup, answer: PublicAnswer) -> Self {
        let mut fitted = std::mem::take(&mut self.fitted);
        fitted.extend(answer.arms.into_iter().filter_map(|arm| FittedArm::beside(group, arm)));
        self.with_arms(fitted)
    }

    fn with_arms(self, fitted: Vec<FittedArm>) -> Self {
        let arms = fitted.iter().map(|arm| arm.describe(self.table.is_some())).collect();
        Self { arms, fitted, ..self }
    }

    fn has_partition_size(&self) -> bool {
        self.table.as_ref().is_some_and(|(columns, _)| columns.has_partition_size())
    }

    /// Returns the fit of all runs.
    fn joint(&self) -> Option<(&Columns, &TablePredictor)> {
        let (columns, table) = self.table.as_ref()?;
        let fit = || TablePredictor::fit_tuned(table, &columns.meanings(), self.tuning).ok();
        let joint = self.joint.get_or_init(fit);
        Some((columns, joint.as_ref()?))
    }

    /// Whether the job ran on a machine type, with or without success.
    pub(crate) fn was_tried_on(&self, machine: &str) -> bool {
        self.tried.iter().any(|name| name == machine)
    }

    /// Returns the partition sizes of the completed runs, ascending.
    pub fn partition_sizes(&self) -> Vec<u32> {
        let runs = self.fitted.iter().flat_map(|arm| &arm.job.observations);
        distinct(runs.map(|run| run.partition_size))
    }

    /// Predicts only with this partition size.
    pub fn with_partition_size(mut self, partition_size: u32) -> Self {
        let has_column = self.has_partition_size();
        let mut fitted = std::mem::take(&mut self.fitted);
        fitted.dedup_by(|later, first| Arc::ptr_eq(&later.job, &first.job));
        for arm in &mut fitted {
            arm.assume_partition_size(partition_size, has_column);
        }
        self.with_arms(fitted)
    }

    /// Adds arms for those of these batch sizes that no run had and that are between two measured
    /// ones, if the fit of all runs includes the effect of the batch size.
    pub fn with_batch_sizes(mut self, batch_sizes: &[u32]) -> Self {
        if self.table.as_ref().is_some_and(|(columns, _)| columns.has_batch_size()) {
            let added = between(&self.fitted, batch_sizes);
            self.fitted.extend(added);
        }
        let fitted = std::mem::take(&mut self.fitted);
        self.with_arms(fitted)
    }

    /// Returns the contexts of the arms, each once.
    pub fn contexts(&self) -> Vec<&Context> {
        let mut contexts: Vec<&Context> = self.fitted.iter().map(|arm| &arm.job.context).collect();
        contexts.dedup();
        contexts
    }

    /// Returns the warnings that apply to every prediction of the arms: samples that disagree, and
    /// samples that were not fitted.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        for warning in self.fitted.iter().filter_map(|arm| arm.own.as_ref()).flat_map(|own| own.warnings()) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Whether times of an arm are from public measurements.
    pub fn has_public(&self) -> bool {
        (0..self.fitted.len()).any(|arm| self.has_public_arm(arm))
    }

    /// Whether the times of an arm are from public measurements.
    pub(crate) fn has_public_arm(&self, arm: usize) -> bool {
        self.fitted[arm].public.is_some()
    }

    /// Returns the arms.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// Returns the accuracy that was measured with an arm's batch size and averaging interval on
    /// this number of executors; `None` if it was not measured.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn accuracy(&self, arm: usize, executors: u32) -> Option<&Accuracy> {
        let known = &self.fitted[arm].accuracies;
        known.iter().find(|(measured, _)| *measured == executors).map(|(_, accuracy)| accuracy)
    }

    /// Returns why the accuracy of the job is unknown; `None` if it is known.
    pub fn accuracy_unknown(&self) -> Option<AccuracyUnknown> {
        self.accuracy_unknown
    }

    /// Returns the job that is predicted.
    pub fn definition(&self) -> &JobDefinition {
        &self.definition
    }

    /// Predicts the completion time of the whole job on equal executors of an arm, like
    /// [`JointPredictor::predict_split`].
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn predict(&self, arm: usize, executors: u32, cores_per_executor: u32) -> Prediction {
        self.predict_split(arm, CoreSplit::even(executors, cores_per_executor))
    }

    /// Predicts the completion time of the whole job on an arm, as if the machines had processors
    /// for all executors. The caller computes the number of machines.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn predict_split(&self, arm: usize, split: CoreSplit) -> Prediction {
        self.predict_share(arm, split, 1.0)
    }

    /// Predicts the completion time of the whole job on a configuration of a plan: on the machines
    /// that it rents, or on the one machine of a machine type outside the catalog.
    ///
    /// # Panics
    /// The index of the arm is not below the number of arms.
    pub(crate) fn predict_placement(&self, placement: Placement) -> Prediction {
        self.of_arm(placement.arm, placement.machines == 0).predict(placement.split())
    }

    /// Returns the predictor of an arm for many configurations, with a cache. On a single machine,
    /// the arm's own predictor limits the time by its processors and accelerators.
    pub(crate) fn of_arm(&self, arm: usize, is_single_machine: bool) -> ArmPredictor<'_> {
        ArmPredictor::new(self, arm, is_single_machine)
    }

    /// Predicts the completion time of a share of the job, as [`JointPredictor::predict_split`]
    /// does for the whole.
    pub(crate) fn predict_share(&self, arm: usize, split: CoreSplit, share: f64) -> Prediction {
        let fitted = &self.fitted[arm];
        if let Some(public) = &fitted.public {
            let unknown = || Prediction::unknown(vec![Warning::Impossible]);
            return public.of_share(split.executors, share).unwrap_or_else(unknown);
        }
        let setting = Setting::at(split, fitted.whole_job * share);
        if !setting.is_possible() {
            return Prediction::unknown(vec![Warning::Impossible]);
        }
        let own = fitted.own.as_ref().zip(fitted.items.as_ref()).map(|(own, items)| own.unlimited_with(items, setting));
        if let Some(own) = own.as_ref().filter(|own| own.completion_time_secs.is_some()) {
            return own.clone();
        }
        let joint = self.joint().and_then(|(columns, joint)| {
            let images = self.definition.images_processed() * share;
            let asked = columns.question(fitted, split, images).ok()?;
            joint.predict(&asked).ok()?.pop().map(without_larger_job)
        });
        joint.or(own).unwrap_or_else(|| Prediction::unknown(vec![Warning::NotPositive]))
    }

    /// Returns the longest time after which a run of this configuration was stopped, seconds; 0 if
    /// none was. The whole job takes longer.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn at_least_secs(&self, arm: usize, split: CoreSplit) -> f64 {
        let fitted = &self.fitted[arm];
        stopped_secs(&fitted.job, split, fitted.whole_job)
    }

    /// Returns the probability that the whole job is done within `limit_secs` on a configuration
    /// of an arm with this prediction; `None` if there are too few samples to estimate it. It is 0
    /// if a run of the configuration was stopped after as long.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn chance(&self, arm: usize, split: CoreSplit, prediction: &Prediction, limit_secs: f64) -> Option<f64> {
        let secs = prediction.completion_time_secs?;
        within(limit_secs, secs, prediction.spread.as_ref(), self.at_least_secs(arm, split))
    }

    /// Returns the sampling rate of the whole job among the runs of [`JointPredictor::job`]; below
    /// 1 if a run had more images than the job.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn whole_job(&self, arm: usize) -> f64 {
        self.fitted[arm].whole_job
    }

    /// Returns the arm's runs; their sampling rates are shares of the images of the whole job or of
    /// the largest run.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn job(&self, arm: usize) -> &Job {
        &self.fitted[arm].job
    }

    /// Returns the predictor that was fitted to the arm's runs alone; `None` if its times are
    /// predicted from other runs.
    ///
    /// # Panics
    /// The index is not below the number of arms.
    pub fn own(&self, arm: usize) -> Option<&Predictor> {
        self.fitted[arm].own.as_deref()
    }

    /// Returns the arm's measurements, scaled to the images of the whole job, and the memory
    /// outcomes of all arms.
    pub(crate) fn fitted(&self, arm: usize) -> &FittedArm {
        &self.fitted[arm]
    }
}

/// Removes the warning about more images than measured, because samples are smaller than the job by
/// design.
fn without_larger_job(mut prediction: Prediction) -> Prediction {
    prediction.warnings.retain(|warning| match warning {
        Warning::OutsideSampledRange { feature, asked, largest, .. } => {
            !(feature == Columns::IMAGES && asked > largest)
        }
        _ => true,
    });
    prediction
}

fn distinct_settings(job: &Job) -> usize {
    let key = |setting: Setting| (setting.split(), setting.sampling_rate.to_bits());
    distinct(job.observations.iter().map(|run| key(Setting::of(run)))).len()
}
