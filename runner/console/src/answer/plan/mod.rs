//! The plan: the configuration that meets the limits at the least cost, and all others.

mod columns;
mod forms;
mod inversion;
mod row;
mod shortfall;
mod startup;
mod trained;

use foreglow_exit::unusable;
use foreglow_model::{
    AccuracyUnknown, Arm, Basis as Origin, Decision, Interval, Limits, Neighbours, Objective, Omission, Plan,
    Predictor, PublicBasis, TrainedSetting, Warning, format_cost,
};
use foreglow_shared::{
    CoreSplit, CostUnit, Job, JobDefinition, PriceSheet, Question, Sample, WhatIf, format_duration, format_price,
};
use serde::Serialize;

use self::inversion::Inversion;
pub(super) use self::row::Row;
pub use self::startup::Startup;
use super::{Basis, LogBasis, SCHEMA};
use crate::ask::Source;
use crate::outliers::named;

/// Answer to a question about a job: which configuration to choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanAnswer {
    schema: u32,
    job: JobDefinition,
    #[serde(skip)]
    title: String,
    predictor: &'static str,
    /// Present if the CNN was never run.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_run: Option<Basis>,
    /// Present if times are predicted from public measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    public_measurements: Option<PublicBasis>,
    /// Present if times are simulated from event logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_logs: Option<LogBasis>,
    currency: String,
    /// A large number of inputs whose cost is shown as well; `None` if it does not follow from that
    /// of the job.
    #[serde(skip)]
    cost_unit: Option<CostUnit>,
    limits: Limits,
    /// The quantity that ranks the configurations.
    objective: Objective,
    /// Prices per executor, core and GiB, of the first machine that the catalog lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<PriceSheet>,
    /// The price sheet of each machine that the catalog lacks.
    #[serde(skip)]
    sheets: Vec<(String, PriceSheet)>,
    /// Share of a processor that the cores of a machine get, if they are slowed.
    #[serde(skip)]
    core_share: Option<f64>,
    /// Reason why the cost is unknown; absent if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_unknown: Option<String>,
    pub(super) recommended: Option<Row>,
    /// `spark-submit` arguments of the recommended configuration, for jobs run by Spark.
    #[serde(skip_serializing_if = "Option::is_none")]
    spark_submit: Option<String>,
    /// The least costly one that meets the limits, if the recommended one counts as equally costly
    /// and is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_cheap: Option<Row>,
    fastest: Option<Row>,
    cheapest: Option<Row>,
    likeliest: Option<Row>,
    next_faster: Option<Row>,
    next_cheaper: Option<Row>,
    /// Number of configurations that were compared; if there are very many, `candidates` has only
    /// the outstanding ones.
    compared: usize,
    candidates: Vec<Row>,
    /// The best of each machine type, ascending by objective.
    best_per_machine: Vec<Row>,
    /// Places of the Pareto front among the candidates, ascending by time.
    #[serde(skip)]
    pareto: Vec<usize>,
    /// The training settings whose accuracy was measured, the most accurate first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trained: Vec<TrainedSetting>,
    /// Why the accuracy is unknown; `None` if it is known.
    #[serde(skip)]
    accuracy_unknown: Option<AccuracyUnknown>,
    /// Configurations that cannot be recommended, with the reasons.
    omitted: Vec<Omission>,
    /// The arms with samples; absent for a job without samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measured: Vec<Arm>,
    /// All arms, also those from public measurements.
    #[serde(skip)]
    arms: Vec<Arm>,
    /// Start-up times of the samples, which the completion time does not include.
    #[serde(skip_serializing_if = "Option::is_none")]
    startup: Option<Startup>,
    /// A smaller configuration that is predicted to be faster than a larger one, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    larger_is_slower: Option<Inversion>,
    /// Lowest price per hour of a configuration; `None` if no price is known.
    #[serde(skip)]
    least_hourly_cost: Option<f64>,
    /// Warnings about the samples; warnings about a configuration are in its row.
    warnings: Vec<Warning>,
    /// The samples that warnings are about, with commands, in a sentence.
    #[serde(skip)]
    named_samples: Option<String>,
}

impl PlanAnswer {
    /// Decides the question.
    ///
    /// # Errors
    /// A limit is out of range, or the runs of the only arm cannot be fitted.
    pub fn new(plan: &Plan, limits: Limits, startup: Option<Startup>) -> anyhow::Result<Self> {
        if let ([arm], [omission]) = (plan.predictor().arms(), plan.omissions())
            && arm.basis == Origin::Unknown
        {
            return Err(unusable(omission.reason.clone()));
        }
        let decision = plan.decide(&limits).map_err(|error| unusable(error.to_string()))?;
        let neighbours = Neighbours::of(&decision);
        let Decision { candidates, pareto, best_per_machine, compared, objective, .. } = &decision;
        let mut rows: Vec<Row> = candidates.iter().map(|candidate| Row::of(plan, candidate)).collect();
        pareto.iter().for_each(|place| rows[*place].on_pareto_front = true);
        best_per_machine.iter().for_each(|place| rows[*place].is_best_of_machine = true);
        let at = |place: Option<usize>| place.map(|place| rows[place].clone());
        let recommended = at(decision.recommended);
        let joint = plan.predictor();
        let sheets = sheets(plan);
        Ok(Self {
            schema: SCHEMA,
            job: joint.definition().clone(),
            title: title(plan),
            predictor: Predictor::NAME,
            never_run: None,
            public_measurements: None,
            event_logs: None,
            currency: plan.currency().to_owned(),
            cost_unit: decision.cost_unit(joint.definition()),
            limits,
            objective: *objective,
            prices: sheets.first().map(|(_, sheet)| sheet.clone()),
            sheets,
            core_share: joint.contexts().iter().find_map(|context| context.host.core_share),
            cost_unknown: cost_unknown(plan),
            spark_submit: recommended.as_ref().and_then(Row::spark_submit),
            recommended,
            as_cheap: at(decision.as_cheap),
            fastest: at(decision.fastest),
            cheapest: at(decision.cheapest),
            likeliest: at(decision.likeliest),
            next_faster: at(neighbours.faster),
            next_cheaper: at(neighbours.cheaper),
            compared: *compared,
            best_per_machine: best_per_machine.iter().map(|place| rows[*place].clone()).collect(),
            pareto: pareto.clone(),
            trained: plan.trained(&limits),
            accuracy_unknown: joint.accuracy_unknown(),
            omitted: plan.omissions().to_vec(),
            measured: joint.arms().iter().filter(|arm| arm.basis != Origin::Public).cloned().collect(),
            arms: joint.arms().to_vec(),
            startup,
            larger_is_slower: Inversion::among(&rows),
            least_hourly_cost: plan.least_hourly_cost(&limits),
            warnings: joint.warnings(),
            named_samples: None,
            candidates: rows,
        })
    }

    /// Decides a question about a single context.
    ///
    /// # Errors
    /// The question has no configurations, or too many, or a limit is out of range.
    pub fn of_context(job: &Job, predictor: Predictor, question: &Question) -> anyhow::Result<Self> {
        let plan = Plan::from_context(predictor, job, question).map_err(|error| unusable(error.to_string()))?;
        let startup = Startup::of(&job.observations);
        let startup_secs = startup.as_ref().map_or(0.0, Startup::median_secs);
        Self::new(&plan, Limits { startup_secs, ..Limits::of(question) }, startup)
    }

    /// Adds the note that the CNN was never run, with the basis of the predictions.
    pub fn based_on(self, basis: Basis) -> Self {
        Self { never_run: Some(basis), ..self }
    }

    /// Adds the basis of the predictions from public measurements.
    pub fn with_public(self, basis: PublicBasis) -> Self {
        Self { public_measurements: Some(basis), ..self }
    }

    /// Adds the names of the samples that warnings are about, among the samples of a source.
    pub fn naming(self, source: &Source, samples: &[Sample], definition: &JobDefinition) -> Self {
        Self { named_samples: named(source, samples, definition, &self.shown_warnings()), ..self }
    }

    /// Adds the event logs from which the times are simulated.
    pub fn with_logs(self, basis: LogBasis) -> Self {
        Self { event_logs: Some(basis), ..self }
    }

    /// Returns the configuration to look at first: the recommended one, or else the fastest.
    pub fn what_if(&self) -> Option<WhatIf> {
        let row = self.recommended.as_ref().or(self.fastest.as_ref())?;
        let CoreSplit { executors, cores_per_executor, .. } = row.split;
        Some(WhatIf { executors, cores_per_executor })
    }

    /// Whether more than one machine type, batch size, averaging interval or partition size is
    /// compared.
    fn compares_arms(&self) -> bool {
        self.arms.len() > 1
    }

    /// Whether whole machines are rented.
    fn rents_machines(&self) -> bool {
        self.candidates.iter().any(|row| row.machines.is_some())
    }

    /// Returns the limits on time and cost, such as `done within 30 min for at most USD 5.00`;
    /// `None` without either.
    fn describe_limits(&self) -> Option<String> {
        let deadline = self.limits.deadline_secs.map(|secs| format!("done within {}", format_duration(secs)));
        let budget = self.limits.budget.map(|money| format!("at most {}", self.amount(money)));
        match (deadline, budget) {
            (Some(deadline), Some(budget)) => Some(format!("{deadline} for {budget}")),
            (Some(deadline), None) => Some(deadline),
            (None, Some(budget)) => Some(format!("done for {budget}")),
            (None, None) => None,
        }
    }

    /// Returns the limit on the price per hour, ` on machines for at most USD 2.00 an hour`; empty
    /// without one.
    fn on_machines(&self) -> String {
        let most = self.limits.max_hourly_cost;
        most.map_or_else(String::new, |most| format!(" on machines for at most {} an hour", self.amount(most)))
    }

    /// Returns the unit of the costs in the tables, if that is not the job.
    fn compared_unit(&self) -> Option<&CostUnit> {
        self.cost_unit.as_ref().filter(|unit| unit.is_needed())
    }

    /// Returns the title of the costs in the tables: `cost`, or `cost per million images`.
    fn cost_title(&self) -> String {
        self.compared_unit().map_or_else(|| "cost".to_owned(), |unit| format!("cost {}", unit.title()))
    }

    fn money(&self, row: &Row) -> String {
        self.compared_money(row.cost, row.completion_time_secs, row.interval.as_ref())
    }

    /// Returns the cost of a time in seconds, in the unit of the tables.
    fn compared_money(&self, cost: Option<f64>, secs: Option<f64>, interval: Option<&Interval>) -> String {
        let cost = cost.map(|cost| self.compared_unit().map_or(cost, |unit| unit.cost(cost)));
        format_cost(cost, secs, interval, &self.currency)
    }

    /// Returns the sentence about the cost of the recommended configuration in the unit that the
    /// tables lack: the job or a large number of its inputs; empty without a recommendation.
    fn other_cost(&self) -> String {
        let Some((unit, row)) =
            self.cost_unit.as_ref().zip(self.recommended.as_ref()).filter(|(unit, _)| !unit.is_job())
        else {
            return String::new();
        };
        let money =
            |cost: Option<f64>| format_cost(cost, row.completion_time_secs, row.interval.as_ref(), &self.currency);
        match unit.is_needed() {
            true => format!("\nThe whole job costs {} on the recommended one.\n", money(row.cost)),
            false => {
                let cost = money(row.cost.map(|cost| unit.cost(cost)));
                format!("\nThe recommended one costs {cost} {}.\n", unit.title())
            }
        }
    }

    /// Returns the cost with the digits that tell it from a limit.
    fn exact_money(&self, row: &Row) -> String {
        row.cost.map_or_else(|| "unknown".into(), |cost| self.amount(cost))
    }

    /// Returns a limit or a price with all its digits.
    fn amount(&self, money: f64) -> String {
        format_price(money, &self.currency)
    }

    /// Returns the configuration in a sentence: without its machine type if all have the same.
    fn name(&self, row: &Row) -> String {
        if self.compares_arms() || row.machines.is_some() { row.description.clone() } else { row.split.to_string() }
    }
}

/// Returns the title of the job; with the machine if there is only one.
pub(super) fn title(plan: &Plan) -> String {
    match plan.predictor().contexts().as_slice() {
        [context] if JobDefinition::of(context) == *plan.predictor().definition() => context.title(),
        _ => plan.predictor().definition().title(),
    }
}

/// Returns the price sheet of each machine type that the catalog lacks.
fn sheets(plan: &Plan) -> Vec<(String, PriceSheet)> {
    let mut sheets: Vec<(String, PriceSheet)> = Vec::new();
    for (place, arm) in plan.predictor().arms().iter().enumerate() {
        let own = plan.pricing(place).sheet().map(|sheet| (arm.machine.clone(), sheet.clone()));
        sheets.extend(own.filter(|own| !sheets.contains(own)));
    }
    sheets
}

/// Returns why no configuration has a price, and how to give one; `None` if one has.
pub(super) fn cost_unknown(plan: &Plan) -> Option<String> {
    if plan.objective() == Objective::Cost {
        return None;
    }
    let accelerator = plan.predictor().arms().iter().find_map(|arm| arm.accelerator.as_deref());
    let refused = plan.space().sheet.as_ref().and_then(|sheet| sheet.check_for(accelerator).err());
    Some(refused.map_or_else(
        || {
            "no machine type has a known price; name it with --machine when you measure, or give --catalog or --prices"
                .to_owned()
        },
        |error| format!("{error}, in the price sheet of --prices"),
    ))
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Context, Observation};

    use super::*;
    use crate::output::Format;

    /// The plan of a job of this many images, whose runs took 10 s on one slot of a tenth.
    fn plan(images: u64) -> PlanAnswer {
        let context: Context = serde_json::from_str(&format!(
            r#"{{"workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":{images},"epochs":1,
                "batch_size":8}},"engine":"local","host":{{}}}}"#
        ))
        .unwrap();
        let runs = [(1, 0.1, 10.0), (1, 0.2, 20.1), (2, 0.1, 5.1), (2, 0.2, 10.0), (4, 0.1, 2.6), (4, 0.2, 5.0)];
        let runs = runs.map(|(executors, rate, secs)| {
            serde_json::from_str::<Observation>(&format!("[{executors},1,1024,8,{rate},{secs},null]")).unwrap()
        });
        let job = Job::of_runs(context, runs.to_vec());
        let predictor = super::super::fit(&job).unwrap();
        PlanAnswer::of_context(&job, predictor, &Question::about_job(&job)).unwrap()
    }

    #[test]
    fn costs_below_a_cent_are_compared_per_million_images_and_the_job_is_told_once() {
        let answer = plan(20_000);
        let text = answer.render(Format::Table);
        assert!(text.contains("per million images") && !text.contains("USD 0.00"), "{text}");
        assert_eq!(text.matches("The whole job costs < USD 0.01 on the recommended one.").count(), 1, "{text}");
        let csv = answer.render(Format::Csv);
        let cost = answer.recommended.as_ref().and_then(|row| row.cost).unwrap();
        assert!(cost < 0.01 && csv.contains(&format!(",{cost},USD,")), "{csv}");
    }

    #[test]
    fn other_costs_are_those_of_the_job_and_that_of_a_million_images_is_told_once() {
        let mut answer = plan(2_000);
        let row = answer.recommended.clone().unwrap();
        let (secs, cost) = (row.completion_time_secs.unwrap(), row.cost.unwrap() * 1e6);
        answer.cost_unit = CostUnit::of(&answer.job, secs, cost, cost * 3600.0 / secs);
        answer.recommended.as_mut().unwrap().cost = Some(cost);
        let text = answer.render(Format::Table);
        assert_eq!(text.matches(" per million images.").count(), 1, "{text}");
        assert!(text.contains("The recommended one costs USD ") && !text.contains("per million images\n"), "{text}");
    }
}
