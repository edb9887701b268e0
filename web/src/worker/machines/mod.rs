//! The comparison of machine types, which a worker makes: the question, and the table that answers
//! it. The page shows the table and computes nothing of it.

mod front;
mod html;
mod pick;
mod pick_html;

use foreglow_model::{Basis, Comparison, JointPredictor, MachineCandidate, MachineLimits, Offer};
use foreglow_shared::{Catalog, Context, Job, JobDefinition, JobGroup, Observation, PriceSheet, WhatIf, group_jobs};
use serde::{Deserialize, Serialize};

pub use self::html::MachineHtml;
pub use self::pick::Picked;
use crate::data::machine_choice::MachineChoice;

/// A question about a job on all machine types that were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineQuestion {
    /// All jobs of the page.
    pub jobs: Vec<Job>,
    /// The context of the selected job.
    pub context: Context,
    /// Deadline, budget and probability. The worker adds the start-up time.
    pub limits: MachineLimits,
    /// Prices of machines that are in no catalog.
    pub sheet: PriceSheet,
    /// The devices and machine types to compare, and the user's prices.
    pub choice: MachineChoice,
    /// Executors and cores of the what-if.
    pub what_if: WhatIf,
}

/// The answer: the notable configurations, and the machine types.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineTable {
    /// Currency of all prices.
    pub currency: String,
    /// Number of configurations that were compared.
    pub weighed: usize,
    /// The notable configurations, ascending by time.
    pub rows: Vec<MachineRow>,
    /// Index of the recommended configuration.
    pub recommended: Option<usize>,
    /// Index of the fastest configuration, whatever the limits.
    pub fastest: Option<usize>,
    /// Indices of the best configuration of each machine type, the cheapest first.
    pub best: Vec<usize>,
    /// Indices of the Pareto front of time and cost, by ascending time.
    pub pareto: Vec<usize>,
    /// The measured machine types.
    pub types: Vec<TypePrice>,
    /// What was not compared, and why; one sentence each.
    pub omitted: Vec<String>,
    /// The what-if.
    pub picked: Picked,
}

/// A configuration on machines of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRow {
    /// Name of the machine type.
    pub machine: String,
    /// `3 × c5.xlarge, 2 executors of 2 cores each`.
    pub description: String,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Images per forward pass.
    pub batch_size: u32,
    /// Predicted time of the whole job, seconds.
    pub secs: Option<f64>,
    /// 90 % interval, seconds.
    pub interval_secs: Option<(f64, f64)>,
    /// Cost of the predicted time.
    pub cost: Option<f64>,
    /// Probability of meeting the limits.
    pub success_probability: Option<f64>,
    /// Whether all limits are met with the requested probability.
    pub is_feasible: bool,
    /// Whether the time is predicted from few runs and other machine types.
    pub is_borrowed: bool,
}

/// A measured machine type and its price.
#[derive(Clone, Debug, PartialEq)]
pub struct TypePrice {
    /// Name of the machine type.
    pub machine: String,
    /// Whether its executors hold an accelerator.
    pub is_accelerated: bool,
    /// Price per hour of a whole machine; `None` if the catalog lacks it.
    pub hourly_price: Option<f64>,
}

impl MachineQuestion {
    /// Answers as HTML: the comparison, or the reason why it failed.
    pub fn answer(self) -> MachineHtml {
        let (choice, deadline_secs) = (self.choice.clone(), self.limits.deadline_secs);
        let table = self.compare();
        MachineHtml::of(table.as_ref().map_err(String::as_str), &choice, deadline_secs)
    }

    /// Compares the machine types, as `foreglow plan` does.
    ///
    /// # Errors
    /// The runs cannot be fitted, or a limit is out of range; one sentence.
    fn compare(mut self) -> Result<MachineTable, String> {
        let definition = JobDefinition::of(&self.context);
        let groups = group_jobs(std::mem::take(&mut self.jobs));
        let group = groups.into_iter().find(|group| group.definition == definition);
        let group = group.ok_or("the job has no runs")?;
        let types = types(&group);
        let offer = self.offer(&group, &types);
        let runs = || group.jobs.iter().flat_map(|job| &job.observations);
        self.limits.startup_secs = median_startup_secs(runs());
        let has_choice = !offer.machines.is_empty() || types.iter().all(|kind| kind.is_kept(&self.choice));
        if !has_choice {
            return Err("every machine type is left out; choose at least one".into());
        }
        let predictor = JointPredictor::fit(&group).map_err(|error| error.to_string())?;
        let picked =
            pick::answer(&self.choice.pick, &predictor, offer.clone(), &self.limits, &self.context, self.what_if);
        let comparison = Comparison::of(predictor, &offer).map_err(|error| error.to_string())?;
        let decision = comparison.decide(&self.limits).map_err(|error| error.to_string())?;
        let priced = |kind: TypePrice| {
            let catalog = offer.catalog.as_ref();
            let machine = catalog.and_then(|catalog| catalog.find(&kind.machine).ok());
            TypePrice { hourly_price: machine.map(|machine| machine.hourly_price), ..kind }
        };
        Ok(MachineTable {
            currency: comparison.currency().to_owned(),
            weighed: decision.weighed,
            rows: decision.candidates.iter().map(|candidate| row(&comparison, candidate)).collect(),
            recommended: decision.recommended,
            fastest: decision.fastest,
            best: decision.best_per_machine,
            pareto: decision.pareto,
            types: types.into_iter().map(priced).collect(),
            omitted: comparison.omissions().iter().map(|left| format!("{}: {}", left.machine, left.reason)).collect(),
            picked,
        })
    }

    fn offer(&self, group: &JobGroup, types: &[TypePrice]) -> Offer {
        let mut catalog = Catalog::built_in();
        for machine in &mut catalog.machines {
            let own = self.choice.prices.iter().find(|(name, _)| *name == machine.name);
            machine.hourly_price = own.map_or(machine.hourly_price, |(_, price)| *price);
        }
        // Machine types that are in no catalog are priced by their cores and memory, if all are.
        let is_in_catalog = |job: &Job| catalog.find(&job.context.machine_name()).is_ok();
        let sheet = (!group.jobs.iter().any(is_in_catalog) && self.sheet.currency == catalog.currency)
            .then(|| self.sheet.clone());
        let kept = types.iter().filter(|kind| kind.is_kept(&self.choice));
        let machines = if types.iter().all(|kind| kind.is_kept(&self.choice)) {
            Vec::new()
        } else {
            kept.map(|kind| kind.machine.clone()).collect()
        };
        Offer { catalog: Some(catalog), sheet, machines, ..Offer::default() }
    }
}

impl TypePrice {
    fn is_kept(&self, choice: &MachineChoice) -> bool {
        choice.keeps(&self.machine, self.is_accelerated)
    }
}

/// The measured machine types, by name.
fn types(group: &JobGroup) -> Vec<TypePrice> {
    let mut types: Vec<TypePrice> = Vec::new();
    for job in &group.jobs {
        let machine = job.context.machine_name();
        match types.iter_mut().find(|kind| kind.machine == machine) {
            Some(kind) => kind.is_accelerated |= job.context.accelerator.is_some(),
            None => {
                let is_accelerated = job.context.accelerator.is_some();
                types.push(TypePrice { machine, is_accelerated, hourly_price: None });
            }
        }
    }
    foreglow_shared::sort_by(&mut types, |a, b| a.machine.cmp(&b.machine));
    types
}

/// Whole machines are billed while executors start: the median of the start-up times, or 0.
fn median_startup_secs<'a>(runs: impl Iterator<Item = &'a Observation>) -> f64 {
    let mut secs: Vec<f64> = runs.filter_map(|run| run.startup_secs).collect();
    foreglow_shared::sort_by(&mut secs, f64::total_cmp);
    secs.get(secs.len() / 2).copied().unwrap_or(0.0)
}

fn row(comparison: &Comparison, candidate: &MachineCandidate) -> MachineRow {
    let placement = candidate.placement;
    let arm = &comparison.predictor().arms()[placement.arm];
    let prediction = &candidate.prediction;
    MachineRow {
        machine: arm.machine.clone(),
        description: comparison.describe(placement),
        memory_per_executor_mib: placement.memory_per_executor_mib,
        batch_size: arm.batch_size,
        secs: prediction.completion_time_secs,
        interval_secs: prediction.interval.map(|interval| (interval.lower_secs, interval.upper_secs)),
        cost: candidate.cost,
        success_probability: candidate.success_probability,
        is_feasible: candidate.is_feasible,
        is_borrowed: arm.basis == Basis::Borrowed,
    }
}
