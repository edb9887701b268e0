//! Lists, packs and predicts the configurations of a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreglow_shared::{CoreSplit, Job, Question, distinct, sort_by};

use super::cache::Cache;
use super::configurations::{configurations, place};
use super::grid::GridCounts;
use super::{Exclusion, MAX_CONFIGURATIONS, MAX_LISTED, Omission, Placement, Plan, Pricing, Space, Timed};
use crate::chance::stopped_secs;
use crate::joint::{ArmPredictor, FittedArm};
use crate::{Arm, Basis, DecideError, JointPredictor, PartitionSizeUnknown, Prediction, Predictor};

/// Why a machine type on which no run completed is not compared.
const ONLY_EXCEEDED: &str =
    "all its runs ran out of memory; measure it with a smaller batch, fewer cores or more memory for each executor";

impl Plan {
    /// Lists the configurations of a space, packs them on machines and predicts their times.
    ///
    /// # Errors
    /// [`DecideError`]: a count is zero, there are more than a million configurations, or the price
    /// sheet is invalid or in another currency than the catalog.
    pub fn new(predictor: impl Into<Arc<JointPredictor>>, space: Space) -> Result<Self, DecideError> {
        space.check()?;
        let predictor = with_sizes(predictor.into(), &space);
        let arms = predictor.arms();
        let pricing: Vec<Pricing> = (0..arms.len()).map(|arm| space.pricing(&predictor, arm)).collect();
        let mut plan = Self {
            currency: space.currency(),
            options: Vec::new(),
            excluded: Vec::new(),
            omissions: Vec::new(),
            grid: GridCounts::of(&predictor, &space, &pricing)?,
            cache: Cache::default(),
            pricing,
            predictor: Arc::clone(&predictor),
            space,
        };
        let mut listing = Listing::default();
        let mut count = 0;
        for (index, arm) in arms.iter().enumerate().filter(|(_, arm)| plan.space.has(arm)) {
            if let Some(reason) = plan.cannot_predict(index) {
                listing.omit(&arm.machine, 0, reason);
                continue;
            }
            if plan.grid.is_some() {
                continue;
            }
            let configurations = configurations(&predictor, index, &plan.space);
            count += configurations.len();
            if count > MAX_CONFIGURATIONS {
                return Err(DecideError::TooMany(count));
            }
            if matches!(plan.pricing[index], Pricing::Unknown) && arms.len() > 1 {
                let reason = "neither the catalog nor a price sheet has its price, so its cost is unknown; name the \
                              machine type with --machine when you measure, or give --catalog or --prices";
                listing.omit(&arm.machine, 0, reason.to_owned());
            }
            listing.add(&plan, index, &configurations);
        }
        listing.omit_unmeasured(&predictor, &plan.space);
        plan.take(listing);
        Ok(plan)
    }

    /// Plans a single context with a fitted predictor, for a question about it.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Space::from_context`].
    pub fn from_context(
        predictor: impl Into<Arc<Predictor>>,
        job: &Job,
        question: &Question,
    ) -> Result<Self, DecideError> {
        Self::new(JointPredictor::from_predictor(predictor, job), Space::from_context(question, job)?)
    }

    /// Returns the plan of these configurations of the only arm.
    pub(super) fn of_splits(&self, splits: &[CoreSplit]) -> Self {
        let mut plan = Self {
            predictor: Arc::clone(&self.predictor),
            space: self.space.clone(),
            pricing: self.pricing.clone(),
            currency: self.currency.clone(),
            options: Vec::new(),
            excluded: Vec::new(),
            omissions: self.omissions.clone(),
            grid: None,
            cache: Cache::default(),
        };
        let mut listing = Listing::default();
        listing.add(&plan, 0, splits);
        plan.take(listing);
        plan
    }

    /// Returns why no time of an arm can be predicted; `None` if it can.
    fn cannot_predict(&self, arm: usize) -> Option<String> {
        let fitted = self.predictor.fitted(arm);
        if fitted.has_only_exceeded {
            return Some(ONLY_EXCEEDED.to_owned());
        }
        if self.predictor.arms()[arm].basis == Basis::Unknown {
            return Some(fitted.unfit.as_ref().map_or_else(
                || "too few runs completed to predict any time; collect two sampling rates of one configuration".into(),
                ToString::to_string,
            ));
        }
        fitted.is_size_unknown.then(|| PartitionSizeUnknown.to_string())
    }

    /// Moves the listed configurations into the plan, ascending by time.
    fn take(&mut self, listing: Listing) {
        let Listing { mut options, excluded, omissions } = listing;
        sort_by(&mut options, |(a, _), (b, _)| a.secs.total_cmp(&b.secs));
        let is_listed = options.len() + excluded.len() <= MAX_LISTED;
        let (options, predictions): (Vec<Timed>, Vec<Option<Prediction>>) = options.into_iter().unzip();
        self.options = options;
        self.omissions.extend(omissions.into_iter().map(|((machine, reason), configurations)| Omission {
            machine,
            configurations,
            reason,
        }));
        if is_listed {
            self.cache = Cache::with_predictions(predictions.into_iter().flatten().collect());
            self.excluded = excluded;
        }
    }
}

/// Returns the predictor for the partition size and the batch sizes of a space.
fn with_sizes(predictor: Arc<JointPredictor>, space: &Space) -> Arc<JointPredictor> {
    let predictor = match space.partition_size {
        Some(size) => Arc::new(Arc::unwrap_or_clone(predictor).with_partition_size(size)),
        None => predictor,
    };
    let is_measured = |size: &u32| predictor.arms().iter().any(|arm| arm.batch_size == *size);
    let unmeasured: Vec<u32> = space.batch_sizes.iter().filter(|size| !is_measured(size)).copied().collect();
    match unmeasured.as_slice() {
        [] => predictor,
        sizes => Arc::new(Arc::unwrap_or_clone(predictor).with_batch_sizes(sizes)),
    }
}

/// The configurations of a plan while it is made.
#[derive(Default)]
struct Listing {
    /// With the predictions of the first ones.
    options: Vec<(Timed, Option<Prediction>)>,
    excluded: Vec<Excluded>,
    /// Number of configurations by machine type and reason.
    omissions: BTreeMap<(String, String), usize>,
}

/// A configuration that cannot be recommended.
#[derive(Clone, Debug)]
pub(super) struct Excluded {
    pub(super) placement: Placement,
    pub(super) prediction: Prediction,
    pub(super) exclusion: Exclusion,
}

impl Listing {
    /// Adds configurations of an arm.
    fn add(&mut self, plan: &Plan, index: usize, configurations: &[CoreSplit]) {
        let predictor = &plan.predictor;
        let (arm, fitted) = (&predictor.arms()[index], predictor.fitted(index));
        let pricing = &plan.pricing[index];
        let mut of_arm = predictor.of_arm(index, pricing.machine_type().is_none());
        for split in configurations {
            match place((arm, fitted), *split, pricing, &plan.space) {
                Ok(placement) => self.add_placed(&mut of_arm, (arm, fitted), Placement { arm: index, ..placement }),
                Err((placement, exclusion)) => {
                    let placement = Placement { arm: index, ..placement };
                    // The time of executors that do not fit the machines means nothing.
                    let is_shown = exclusion.is_about_memory() && self.excluded.len() < MAX_LISTED;
                    let prediction = is_shown.then(|| of_arm.predict(*split));
                    self.exclude(&arm.machine, placement, exclusion, prediction);
                }
            }
        }
    }

    fn add_placed(&mut self, of_arm: &mut ArmPredictor, (arm, fitted): (&Arm, &FittedArm), placement: Placement) {
        let split = placement.split();
        let prediction = of_arm.predict(split);
        let Some(secs) = prediction.completion_time_secs else {
            let reason =
                prediction.warnings.first().map_or_else(|| "its time is unknown".to_owned(), ToString::to_string);
            self.exclude(&arm.machine, placement, Exclusion::Impossible { reason }, Some(prediction));
            return;
        };
        let at_least_secs = stopped_secs(&fitted.job, split, fitted.whole_job);
        let timed = Timed { placement, secs, spread: prediction.spread.clone(), at_least_secs };
        let is_shown = self.options.len() < MAX_LISTED;
        self.options.push((timed, is_shown.then_some(prediction)));
    }

    fn exclude(&mut self, machine: &str, placement: Placement, exclusion: Exclusion, prediction: Option<Prediction>) {
        self.omit(machine, 1, exclusion.to_string());
        if let Some(prediction) = prediction.filter(|_| self.excluded.len() < MAX_LISTED) {
            self.excluded.push(Excluded { placement, prediction, exclusion });
        }
    }

    fn omit(&mut self, machine: &str, configurations: usize, reason: String) {
        *self.omissions.entry((machine.to_owned(), reason)).or_default() += configurations;
    }

    /// Adds the machine types and batch sizes of the space that were not measured.
    fn omit_unmeasured(&mut self, predictor: &JointPredictor, space: &Space) {
        let arms = predictor.arms();
        for name in &space.machines {
            if !arms.iter().any(|arm| arm.machine == *name) {
                let runs = if predictor.was_tried_on(name) { "no run completed there" } else { "it was not measured" };
                self.omit(name, 0, format!("{runs}; collect two or three runs on it"));
            }
        }
        let is_measured = |size: &u32| arms.iter().any(|arm| arm.batch_size == *size);
        for size in space.batch_sizes.iter().filter(|size| !is_measured(size)) {
            let measured = arms.iter().filter(|arm| arm.basis != Basis::Interpolated);
            let measured = distinct(measured.map(|arm| arm.batch_size));
            let measured: Vec<String> = measured.iter().map(u32::to_string).collect();
            let reason =
                format!("it was not measured, only {}; collect two or three runs with it", measured.join(", "));
            self.omit(&format!("batch size {size}"), 0, reason);
        }
    }
}
