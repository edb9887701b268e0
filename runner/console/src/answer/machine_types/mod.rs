//! The decision over all machine types that were measured.

mod forms;
mod trained;

use foreglow_exit::unusable;
use foreglow_model::{
    Accuracy, AccuracyUnknown, Arm, Basis, Comparison, Interval, MachineCandidate, MachineDecision, MachineLimits,
    Omission, Pricing, SizesFrom, Warning,
};
use foreglow_shared::{
    Date, Engine, JobDefinition, PriceSheet, format_duration, format_money, format_probability, spark_submit_arguments,
};
use serde::Serialize;

use self::trained::TrainedRow;
use super::{SCHEMA, Startup};

/// Answer to a question about a job on several machine types.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineAnswer {
    schema: u32,
    job: JobDefinition,
    currency: String,
    limits: MachineLimits,
    /// Prices per executor, core and GiB, of the first machine that the catalog lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<PriceSheet>,
    /// The price sheet of each machine that the catalog lacks.
    #[serde(skip)]
    sheets: Vec<(String, PriceSheet)>,
    recommended: Option<MachineRow>,
    /// `spark-submit` arguments of the recommended configuration, for jobs run by Spark.
    #[serde(skip_serializing_if = "Option::is_none")]
    spark_submit: Option<String>,
    fastest: Option<MachineRow>,
    cheapest: Option<MachineRow>,
    likeliest: Option<MachineRow>,
    /// The best configuration of each machine type.
    best_per_machine: Vec<MachineRow>,
    /// The Pareto front of time and cost, by ascending time.
    pareto: Vec<MachineRow>,
    /// The training settings whose accuracy was measured, the most accurate first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trained: Vec<TrainedRow>,
    /// Why the accuracy is unknown; `None` if it is known.
    #[serde(skip)]
    accuracy_unknown: Option<AccuracyUnknown>,
    /// Number of configurations that were compared.
    weighed: usize,
    /// Configurations that were not compared, with the reasons.
    omitted: Vec<Omission>,
    /// The measured arms.
    measured: Vec<Arm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    startup: Option<Startup>,
    /// Lowest price per hour of a configuration; `None` if no price is known.
    #[serde(skip)]
    least_hourly_cost: Option<f64>,
}

/// A configuration on machines of one type.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct MachineRow {
    /// `3 × c5.xlarge, 2 executors of 2 cores each`.
    #[serde(skip)]
    description: String,
    #[serde(skip)]
    description_with_sizes: String,
    machine: String,
    /// Whether `machine` is the name of a machine type; otherwise it describes the hardware.
    is_named: bool,
    /// Machines; `None` if the machine type is not in the catalog.
    machines: Option<u32>,
    executors: u32,
    /// Executors of a full machine; `None` if the machine type is not in the catalog.
    executors_per_machine: Option<u32>,
    cores_per_executor: u32,
    /// Absent if all executors have the same number.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cores: Option<u32>,
    memory_per_executor_mib: u32,
    batch_size: u32,
    /// Mini-batches between two averages; `None` unless the job trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    average_every: Option<u32>,
    partition_size: u32,
    /// The runs from which memory and partition size are taken.
    sizes_from: SizesFrom,
    accelerator: Option<String>,
    /// Whether the executors share the accelerators of their machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shares_accelerators: bool,
    /// Accelerators of a machine; `None` without any, or if their number is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    accelerators: Option<u32>,
    engine: Engine,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    cost: Option<f64>,
    hourly_cost: Option<f64>,
    success_probability: Option<f64>,
    is_feasible: bool,
    /// The measured accuracy of the trained CNN; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<Accuracy>,
    /// The runs from which the time is predicted: of this machine type and batch size, or of
    /// others.
    basis: Basis,
    /// Name of the price sheet; `None` if the catalog has the machine type or no price is known.
    price_list: Option<String>,
    /// Date of the price; `None` if unknown.
    price_date: Option<Date>,
    warnings: Vec<Warning>,
    /// Whether several machines are needed although each run was on a single one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_beyond_one_machine: bool,
}

impl MachineRow {
    fn of(comparison: &Comparison, candidate: &MachineCandidate) -> Self {
        let placement = candidate.placement;
        let arm = &comparison.predictor().arms()[placement.arm];
        let pricing = comparison.pricing(placement.arm);
        let in_catalog = |count: u32| pricing.machine_type().map(|_| count);
        Self {
            description: comparison.describe(placement),
            description_with_sizes: comparison.describe_with_sizes(placement),
            machine: arm.machine.clone(),
            is_named: arm.is_named,
            machines: in_catalog(placement.machines),
            executors: placement.executors,
            executors_per_machine: in_catalog(placement.executors_per_machine),
            cores_per_executor: placement.cores_per_executor,
            total_cores: placement.total_cores,
            memory_per_executor_mib: placement.memory_per_executor_mib,
            batch_size: arm.batch_size,
            average_every: arm.average_every,
            partition_size: arm.partition_size,
            sizes_from: arm.sizes_from,
            accelerator: arm.accelerator.clone(),
            shares_accelerators: arm.shares_accelerators,
            accelerators: match (&arm.accelerator, pricing.machine_type()) {
                (None, _) => None,
                (Some(_), Some(machine)) => Some(machine.accelerator_count()).filter(|count| *count > 0),
                (Some(_), None) => arm.accelerators,
            },
            engine: arm.engine,
            completion_time_secs: candidate.prediction.completion_time_secs,
            interval: candidate.prediction.interval,
            cost: candidate.cost,
            hourly_cost: candidate.hourly_cost,
            success_probability: candidate.success_probability,
            is_feasible: candidate.is_feasible,
            accuracy: candidate.accuracy.clone(),
            basis: arm.basis,
            price_list: pricing.sheet().map(|sheet| sheet.name.clone()),
            price_date: match pricing {
                Pricing::Machines(machine) => machine.date,
                Pricing::Sheet { sheet, .. } => Some(sheet.date),
                Pricing::Unknown => None,
            },
            warnings: candidate.prediction.warnings.clone(),
            is_beyond_one_machine: placement.machines > 1 && arm.engine == Engine::Local,
        }
    }

    fn time(&self) -> String {
        self.completion_time_secs.map_or_else(|| "unknown".into(), format_duration)
    }
}

impl MachineAnswer {
    /// Decides the question.
    ///
    /// # Errors
    /// A limit is out of range.
    pub fn new(comparison: &Comparison, limits: MachineLimits, startup: Option<Startup>) -> anyhow::Result<Self> {
        let decision = comparison.decide(&limits).map_err(|error| unusable(error.to_string()))?;
        let MachineDecision {
            weighed,
            candidates,
            recommended,
            fastest,
            cheapest,
            likeliest,
            pareto,
            best_per_machine,
        } = decision;
        let rows: Vec<MachineRow> = candidates.iter().map(|candidate| MachineRow::of(comparison, candidate)).collect();
        let at = |place: Option<usize>| place.map(|place| rows[place].clone());
        let all = |places: Vec<usize>| places.into_iter().map(|place| rows[place].clone()).collect();
        let mut sheets: Vec<(String, PriceSheet)> = Vec::new();
        for (place, arm) in comparison.predictor().arms().iter().enumerate() {
            let own = comparison.pricing(place).sheet().map(|sheet| (arm.machine.clone(), sheet.clone()));
            sheets.extend(own.filter(|own| !sheets.contains(own)));
        }
        let recommended = at(recommended);
        let spark_submit = recommended.as_ref().filter(|row| row.engine == Engine::Spark && row.total_cores.is_none());
        let spark_submit = spark_submit.map(|row| {
            spark_submit_arguments(foreglow_shared::Resources {
                executors: row.executors,
                cores_per_executor: row.cores_per_executor,
                total_cores: None,
                memory_per_executor_mib: row.memory_per_executor_mib,
                accelerated: row.accelerator.is_some(),
                shared_accelerators: None,
            })
        });
        Ok(Self {
            schema: SCHEMA,
            job: comparison.predictor().definition().clone(),
            currency: comparison.currency().to_owned(),
            limits,
            prices: sheets.first().map(|(_, sheet)| sheet.clone()),
            sheets,
            recommended,
            spark_submit,
            fastest: at(fastest),
            cheapest: at(cheapest),
            likeliest: at(likeliest),
            best_per_machine: all(best_per_machine),
            pareto: all(pareto),
            trained: TrainedRow::all(comparison, &limits),
            accuracy_unknown: comparison.predictor().accuracy_unknown(),
            weighed,
            omitted: comparison.omissions().to_vec(),
            measured: comparison.predictor().arms().to_vec(),
            startup,
            least_hourly_cost: comparison.least_hourly_cost(&limits),
        })
    }

    /// Fails with the reason if nothing is recommended.
    ///
    /// # Errors
    /// No configuration meets the limits, or none has a known time and price.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.recommended.is_some() {
            return Ok(());
        }
        let Some(fastest) = &self.fastest else {
            let reasons: Vec<String> =
                self.omitted.iter().map(|omission| format!("{}: {}", omission.machine, omission.reason)).collect();
            let reasons =
                if reasons.is_empty() { "no time can be predicted; collect more".into() } else { reasons.join("\n") };
            // The omitted batch sizes have names such as `batch size 16`.
            let is_of_batch = |omission: &Omission| omission.machine.starts_with("batch size ");
            let model = &self.job.model;
            let by_layers = match self.omitted.iter().any(is_of_batch) {
                true => {
                    format!("\nwith --model {model}, plan predicts one other batch size from the costs of the layers")
                }
                false => String::new(),
            };
            anyhow::bail!("no configuration can be compared:\n{reasons}{by_layers}");
        };
        if let Some(reason) = self.inaccuracy() {
            anyhow::bail!("{reason}");
        }
        if let Some(deadline) = self.limits.deadline_secs.filter(|_| self.fastest_is_late()) {
            anyhow::bail!(
                "no configuration is predicted to meet the deadline of {}: the fastest, {}, takes {}; allow more time, or \
                 measure a faster machine type",
                format_duration(deadline),
                fastest.description,
                fastest.time()
            );
        }
        if self.cheapest.is_none() {
            anyhow::bail!(
                "no machine type that was measured has a known price, so which configuration is the cheapest is unknown; \
                 name it with --machine when you measure, or give --catalog or --prices"
            );
        }
        if let (Some(most), Some(least)) = (self.limits.max_hourly_cost, self.least_hourly_cost)
            && least > most
        {
            anyhow::bail!(
                "no configuration costs at most {} an hour: the cheapest machines cost {}; raise --max-hourly-cost",
                format_money(most, &self.currency),
                format_money(least, &self.currency)
            );
        }
        let (machines, wish) = (self.on_machines(), self.wish().unwrap_or_else(|| "known".to_owned()));
        let most = self.likeliest.as_ref().and_then(|row| Some((row, row.success_probability?)));
        let likeliest = most.map_or_else(String::new, |(row, most)| {
            format!("; the likeliest, {}, is so with {}", row.description, format_probability(most))
        });
        anyhow::bail!(
            "no configuration{machines} is {wish} with a probability of {}{likeliest}; relax the limits, lower --probability, or \
             collect more samples",
            format_probability(self.limits.probability)
        )
    }

    /// Returns whether even the fastest configuration is predicted to miss the deadline.
    fn fastest_is_late(&self) -> bool {
        let secs = self.fastest.as_ref().and_then(|row| row.completion_time_secs);
        self.limits.deadline_secs.is_some_and(|deadline| secs.is_none_or(|secs| secs > deadline))
    }

    /// Returns the limits on time and cost, such as `done within 30 min and done for at most USD
    /// 5.00`; `None` without either.
    fn wish(&self) -> Option<String> {
        let limits = [
            self.limits.deadline_secs.map(|secs| format!("done within {}", format_duration(secs))),
            self.limits.budget.map(|budget| format!("done for at most {}", format_money(budget, &self.currency))),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        (!limits.is_empty()).then(|| limits.join(" and "))
    }

    /// Returns the limit on the price per hour, ` on machines for at most USD 2.00 an hour`; empty
    /// without one.
    fn on_machines(&self) -> String {
        let most = self.limits.max_hourly_cost;
        most.map_or_else(String::new, |most| {
            format!(" on machines for at most {} an hour", format_money(most, &self.currency))
        })
    }
}
