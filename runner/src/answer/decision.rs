//! The cheapest configuration that meets the deadline, among all that were asked about.

use foreglow_model::{Candidate, Choice, Decision, Interval, Predictor, Scenario, Warning, decide};
use foreglow_shared::{Context, Question, WhatIf, format_duration, format_money};
use serde::Serialize;

use super::{SCHEMA, configuration, json, notes, probability, range};
use crate::exit::unusable;
use crate::output::Format;
use crate::table::{Align, csv, number, table};

/// The answer to a question about a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionAnswer {
    schema: u32,
    context: Context,
    scenario: Scenario,
    choices: Vec<Choice>,
    question: Question,
    pub(super) recommended: Option<Row>,
    fastest: Option<Row>,
    next_faster: Option<Row>,
    next_cheaper: Option<Row>,
    candidates: Vec<Row>,
}

/// A configuration with what it would take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    executors: u32,
    cores_per_executor: u32,
    memory_per_executor_mib: u32,
    completion_time_secs: Option<f64>,
    interval: Option<Interval>,
    cost: Option<f64>,
    meets_deadline: bool,
    /// No other configuration is both as fast and as cheap.
    on_pareto_front: bool,
    warnings: Vec<Warning>,
}

impl DecisionAnswer {
    /// Decides the question.
    ///
    /// # Errors
    /// A question that has no answer: no configuration to choose from, or far too many.
    pub fn new(context: &Context, predictor: &Predictor, question: &Question) -> anyhow::Result<Self> {
        let decision = decide(predictor, question).map_err(|error| unusable(error.to_string()))?;
        let Decision { candidates, recommended, fastest, pareto } = decision;
        let mut on_front = vec![false; candidates.len()];
        pareto.iter().for_each(|index| on_front[*index] = true);
        let rows: Vec<Row> =
            candidates.into_iter().zip(on_front).map(|(candidate, front)| row(candidate, front)).collect();
        let recommended = recommended.map(|index| rows[index].clone());
        // The front runs from the fastest to the cheapest.
        let front = || pareto.iter().map(|index| &rows[*index]);
        let next_faster = recommended.as_ref().and_then(|row| front().rfind(|other| other.is_faster_than(row)));
        let next_cheaper = recommended.as_ref().and_then(|row| front().find(|other| other.is_cheaper_than(row)));
        Ok(Self {
            schema: SCHEMA,
            context: context.clone(),
            scenario: predictor.scenario(),
            choices: predictor.choices().to_vec(),
            question: question.clone(),
            next_faster: next_faster.cloned(),
            next_cheaper: next_cheaper.cloned(),
            fastest: fastest.map(|index| rows[index].clone()),
            recommended,
            candidates: rows,
        })
    }

    /// The configuration to look at first: the recommended one, or else the fastest.
    pub fn what_if(&self) -> Option<WhatIf> {
        let Row { executors, cores_per_executor, .. } = *self.recommended.as_ref().or(self.fastest.as_ref())?;
        Some(WhatIf { executors, cores_per_executor })
    }

    /// Why nothing is recommended, where nothing is.
    ///
    /// # Errors
    /// No configuration meets the deadline, or no time is known.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.recommended.is_some() {
            return Ok(());
        }
        match (&self.fastest, self.question.deadline_secs) {
            (Some(fastest), Some(deadline)) => anyhow::bail!(
                "no configuration is predicted to meet the deadline of {}: the fastest, {}, takes {}; allow more time, or \
                 offer larger configurations with --executors and --cores",
                format_duration(deadline),
                configuration(fastest.executors, fastest.cores_per_executor),
                fastest.time()
            ),
            _ => anyhow::bail!("the samples cannot say how long any of the configurations takes; collect more of them"),
        }
    }

    /// The answer in a form.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.table(),
            Format::Json => json(self),
            Format::Csv => self.csv(),
        }
    }

    pub(super) fn table(&self) -> String {
        let prices = &self.question.prices;
        let mut text = format!("{}\n\n{}\n", self.context.title(), self.headline());
        let interval = self.candidates.iter().find_map(|row| row.interval.as_ref());
        let interval =
            interval.map_or_else(|| "interval".into(), |interval| format!("{} interval", probability(interval)));
        let columns = [
            ("executors", Align::Right),
            ("cores", Align::Right),
            ("time", Align::Right),
            (interval.as_str(), Align::Left),
            ("cost", Align::Right),
            (if self.question.deadline_secs.is_some() { "deadline" } else { "" }, Align::Left),
            ("", Align::Left),
        ];
        text.push_str(&table(&columns, self.candidates.iter().map(|row| self.cells(row))));
        text.push_str(&format!(
            "\nOn the front: no other configuration is both as fast and as cheap.\n\
             Prices: {}, {}; {} MiB for each executor.\nPredicted by scenario {}.\n",
            prices.name,
            prices.date,
            self.question.memory_per_executor_mib,
            self.scenario.label(),
        ));
        let shown = self.recommended.as_ref().or(self.fastest.as_ref());
        text + &shown.map_or_else(String::new, |row| notes(&row.warnings))
    }

    /// The recommended configuration, large and first, and what a little more money or time would change.
    fn headline(&self) -> String {
        let deadline = self.question.deadline_secs.map(format_duration);
        let verdict = match (&self.recommended, deadline) {
            (Some(_), Some(deadline)) => format!("The cheapest configuration within {deadline}:"),
            (Some(_), None) => "The cheapest configuration, at any speed:".to_owned(),
            (None, Some(deadline)) => format!("No configuration is predicted to be done within {deadline}."),
            (None, None) => "No configuration has a known time.".to_owned(),
        };
        let named = [
            ("RECOMMENDED", &self.recommended),
            ("next faster", &self.next_faster),
            ("fastest", &self.fastest),
            ("next cheaper", &self.next_cheaper),
        ];
        let mut shown: Vec<&Row> = Vec::new();
        let mut text = format!("{verdict}\n\n");
        for (name, row) in named {
            let Some(row) = row.as_ref().filter(|row| !shown.contains(row)) else { continue };
            shown.push(row);
            let configuration = configuration(row.executors, row.cores_per_executor);
            text.push_str(&format!("  {name:<14}{configuration:<26}{:<16}{}\n", row.time(), self.money(row)));
        }
        text
    }

    fn money(&self, row: &Row) -> String {
        row.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &self.question.prices.currency))
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mark = if Some(row) == self.recommended.as_ref() {
            "recommended"
        } else if row.on_pareto_front {
            "on the front"
        } else {
            ""
        };
        let deadline = match (self.question.deadline_secs, row.meets_deadline) {
            (None, _) => "",
            (Some(_), true) => "met",
            (Some(_), false) => "missed",
        };
        vec![
            row.executors.to_string(),
            row.cores_per_executor.to_string(),
            row.time(),
            row.interval.as_ref().map_or_else(|| "unknown".into(), range),
            self.money(row),
            deadline.to_owned(),
            mark.to_owned(),
        ]
    }

    fn csv(&self) -> String {
        let columns = [
            "executors",
            "cores_per_executor",
            "memory_per_executor_mib",
            "completion_time_secs",
            "lower_secs",
            "upper_secs",
            "probability",
            "cost",
            "currency",
            "meets_deadline",
            "on_pareto_front",
            "recommended",
        ];
        let cells = |row: &Row| {
            vec![
                row.executors.to_string(),
                row.cores_per_executor.to_string(),
                row.memory_per_executor_mib.to_string(),
                number(row.completion_time_secs),
                number(row.interval.map(|interval| interval.lower_secs)),
                number(row.interval.map(|interval| interval.upper_secs)),
                number(row.interval.map(|interval| interval.probability)),
                number(row.cost),
                self.question.prices.currency.clone(),
                row.meets_deadline.to_string(),
                row.on_pareto_front.to_string(),
                (Some(row) == self.recommended.as_ref()).to_string(),
            ]
        };
        csv(&columns, self.candidates.iter().map(cells))
    }
}

fn row(candidate: Candidate, on_pareto_front: bool) -> Row {
    Row {
        executors: candidate.executors,
        cores_per_executor: candidate.cores_per_executor,
        memory_per_executor_mib: candidate.memory_per_executor_mib,
        completion_time_secs: candidate.prediction.completion_time_secs,
        interval: candidate.prediction.interval,
        cost: candidate.cost,
        meets_deadline: candidate.meets_deadline,
        on_pareto_front,
        warnings: candidate.prediction.warnings,
    }
}

impl Row {
    fn time(&self) -> String {
        self.completion_time_secs.map_or_else(|| "unknown".into(), format_duration)
    }

    fn is_faster_than(&self, other: &Self) -> bool {
        self.completion_time_secs.zip(other.completion_time_secs).is_some_and(|(mine, theirs)| mine < theirs)
    }

    fn is_cheaper_than(&self, other: &Self) -> bool {
        self.cost.zip(other.cost).is_some_and(|(mine, theirs)| mine < theirs)
    }
}
