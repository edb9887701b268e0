//! Public measurements on which predictions are based.

use std::fmt;
use std::sync::Arc;

use foreglow_public::{Measurements, PublicModel, SoftwareKind};
use foreglow_shared::{Catalog, format_count, format_probability};
use serde::Serialize;

use super::{OwnSpeed, PublicQuestion};
use crate::{Basis, Candidate, Decision, Objective, Plan};

/// Number of machine types that the recommended one is compared with.
const MOST_ORDERS: usize = 3;

/// Public measurements on which the predictions of machine types without own runs are based.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublicBasis {
    /// Name of the network.
    pub network: String,
    /// Public speeds that were fitted for every question.
    pub measurements: usize,
    /// Public speeds of the network itself; 0 if it is predicted from the costs of its graph.
    pub rows_of_network: usize,
    /// Number of their sources.
    pub sources: usize,
    /// Number format.
    pub number_format: &'static str,
    /// Kind of the user's software; `None` if unknown.
    pub software: Option<&'static str>,
    /// Memory that a step needs on a GPU, as expected, bytes.
    pub bytes_per_gpu: f64,
    /// Number of speeds that the user told.
    pub known: usize,
    /// Speeds that the user's own runs show; `None` for a job without samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_runs: Option<Vec<OwnSpeed>>,
    /// Machine types that cannot run the job, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// Machine types whose GPUs the batch may not fit, with the reasons.
    pub may_not_fit: Vec<(String, String)>,
    /// How sure the recommended machine type costs less than the next ones, which is surer than the
    /// times.
    pub order: Vec<SpeedOrder>,
    /// What contradicts the own speeds.
    pub notes: Vec<String>,
}

/// How sure one machine type costs less than another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedOrder {
    /// The machine type that costs less as predicted.
    pub machine: String,
    /// The other one.
    pub than: String,
    /// Probability that the first costs less.
    pub probability: f64,
}

impl PublicBasis {
    pub(super) fn new(table: &Measurements, asked: &PublicQuestion) -> Self {
        let name = &asked.network.name;
        let is_of_network = |network: usize| table.networks[network].name == *name;
        Self {
            network: name.clone(),
            measurements: table.rows.iter().filter(|row| row.is_base).count(),
            rows_of_network: table.rows.iter().filter(|row| is_of_network(row.conditions.network)).count(),
            sources: table.sources.len(),
            number_format: asked.precision.name(),
            software: asked.software.map(SoftwareKind::name),
            bytes_per_gpu: asked.memory.bytes(asked.batch_size.into()).expected,
            known: asked.known.len(),
            own_runs: None,
            left_out: Vec::new(),
            may_not_fit: Vec::new(),
            order: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns how sure the recommended machine type costs less than the next ones, in a sentence.
    pub fn describe_order(&self) -> Option<String> {
        let first = self.order.first()?;
        let than = |order: &SpeedOrder| format!("than {} with {}", order.than, format_probability(order.probability));
        let others: Vec<String> = self.order.iter().map(than).collect();
        Some(format!("{} costs less {}.", first.machine, others.join(", ")))
    }
}

/// Writes a sentence on the basis.
impl fmt::Display for PublicBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.own_runs {
            None => "Nothing was measured here: predicted",
            Some(_) => "Machine types without runs on their GPUs are predicted",
        };
        let runs = self.own_runs.iter().flatten().map(|own| {
            let gpus = if own.gpus == 1 { own.gpu.clone() } else { format!("{} × {}", own.gpus, own.gpu) };
            format!("{:.0} images/s on {gpus}", own.images_per_sec)
        });
        let runs: Vec<String> = runs.collect();
        let runs = if runs.is_empty() { String::new() } else { format!(", and your own runs ({})", runs.join(", ")) };
        let own = match self.known {
            0 => runs,
            count => format!(" and {} of your own{runs}", format_count(count, "number")),
        };
        let network = match self.rows_of_network {
            0 => format!("; {} itself is in none of them, only the costs of its graph are known", self.network),
            _ => String::new(),
        };
        write!(
            f,
            "{subject} from public measurements of the runs of others ({} of {}){own}, with {}{network}.",
            format_count(self.measurements, "speed"),
            format_count(self.sources, "source"),
            self.number_format,
        )
    }
}

/// Compares machine types: the ratio of two times is surer than the times.
#[derive(Clone)]
pub struct Comparison {
    pub(super) model: Arc<PublicModel>,
    pub(super) table: Arc<Measurements>,
    pub(super) asked: PublicQuestion,
}

impl Comparison {
    /// Returns how sure the recommended machine type costs less than the next ones.
    pub fn order(&self, plan: &Plan, decision: &Decision) -> Vec<SpeedOrder> {
        let at = |place: usize| decision.candidates.get(place);
        let machine = |one: &Candidate| plan.predictor().arms()[one.placement.arm].machine.clone();
        // Own runs tell more than the ratio of two public speeds.
        let is_public = |one: &&Candidate| plan.predictor().arms()[one.placement.arm].basis == Basis::Public;
        let best = decision.recommended.and_then(at).filter(|_| decision.objective == Objective::Cost);
        let best = best.filter(is_public);
        let (Some(best), Some(catalog)) = (best, plan.space().catalog.as_ref()) else { return Vec::new() };
        let name = machine(best);
        let others = decision.best_per_machine.iter().filter_map(|place| at(*place));
        let others = others.filter(is_public).filter(|other| machine(other) != name && other.cost > best.cost);
        let order = |other: &Candidate| {
            let machine_hours = |one: &Candidate| match one.placement.machines {
                0 => None,
                machines => Some(one.hourly_cost? / f64::from(machines)),
            };
            let (than, factor) = (machine(other), machine_hours(best)? / machine_hours(other)?);
            let probability = self.is_faster(catalog, [&name, &than], factor)?;
            Some(SpeedOrder { machine: name.clone(), than, probability })
        };
        others.take(MOST_ORDERS).filter_map(order).collect()
    }

    /// Returns the probability that the first machine type is more than `factor` times as fast as
    /// the second one.
    fn is_faster(&self, catalog: &Catalog, machines: [&str; 2], factor: f64) -> Option<f64> {
        let [Ok(one), Ok(other)] = machines.map(|name| catalog.find(name)) else { return None };
        self.asked.is_faster(&self.model, &self.table.gpus, [one, other], factor)
    }
}
