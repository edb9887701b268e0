//! Output formats of a decision.

use foreglow_shared::{format_duration, format_probability};

use super::{DecisionAnswer, PredictedCandidate};
use crate::answer::accuracy::{ACCURACY_COLUMNS, accuracy_cell, accuracy_cells, accuracy_notes, with_accuracy};
use crate::answer::{cost_note, notes, probability, range};
use crate::output::Format;
use crate::split;
use crate::table::{Align, number, table};

impl DecisionAnswer {
    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    pub(in crate::answer) fn table(&self) -> String {
        let prices = &self.question.prices;
        let basis = self.never_run.as_ref().map_or_else(String::new, |basis| format!("{}\n\n", basis.describe()));
        let mut text = format!("{}\n\n{basis}{}\n", self.context.title(), self.headline());
        let interval = self.candidates.iter().find_map(|row| row.interval.as_ref());
        let interval =
            interval.map_or_else(|| "interval".into(), |interval| format!("{} interval", probability(interval)));
        let limit = self.limit().unwrap_or_default();
        let columns = [
            ("executors", Align::Right),
            ("cores", Align::Right),
            ("time", Align::Right),
            (interval.as_str(), Align::Left),
            ("cost", Align::Right),
            (limit.as_str(), Align::Right),
            ("accuracy", Align::Left),
            ("", Align::Left),
        ];
        // Only the runs of training jobs have an accuracy.
        let accuracy = columns.len() - 2;
        let has_accuracy = self.candidates.iter().any(|row| row.accuracy.is_some());
        let kept = |place: &usize| has_accuracy || *place != accuracy;
        let columns: Vec<(&str, Align)> = (0..columns.len()).filter(kept).map(|place| columns[place]).collect();
        let cells = |row| {
            let cells = self.cells(row);
            (0..cells.len()).filter(kept).map(|place| cells[place].clone()).collect()
        };
        text.push_str(&table(&columns, self.candidates.iter().map(cells)));
        if self.weighed > self.candidates.len() {
            text.push_str(&format!(
                "\n{} configurations were compared; the table shows the named ones and the Pareto front.\n",
                self.weighed
            ));
        }
        let off = if prices.discount > 0.0 { format!(", {:.4} % off", prices.discount * 100.0) } else { String::new() };
        let (as_cheap, whose) = match self.cost_unknown {
            None => ("as cheap", format!("Prices: {}, {}{off}", prices.name, prices.date)),
            Some(_) => ("of as few executor-hours", "Prices: unknown".to_owned()),
        };
        text.push_str(&format!(
            "\nOn the Pareto front: no other configuration is both as fast and {as_cheap}.\n\
             {whose}; {} MiB per executor.\nPredicted by Foreglow's own predictor.\n",
            self.question.memory_per_executor_mib,
        ));
        text.push_str(&self.cost_unknown.as_deref().map_or_else(String::new, cost_note));
        let recommended = self.recommended.as_ref().and_then(|row| row.accuracy.as_ref());
        text.push_str(&accuracy_notes(self.candidates.iter().filter_map(|row| row.accuracy.as_ref()), recommended));
        if let Some(startup) = &self.startup {
            text.push_str(&format!("{}\n", startup.describe()));
        }
        if let Some(arguments) = &self.spark_submit {
            text.push_str(&format!("\nThe recommended one for spark-submit:\n  {arguments}\n"));
        }
        let shown = self.recommended.as_ref().or(self.fastest.as_ref());
        let mut warnings = shown.map_or_else(Vec::new, |row| row.warnings.clone());
        // A run that was stopped later than predicted puts the time in any row in doubt.
        let of_samples = self.candidates.iter().flat_map(|row| &row.warnings).filter(|one| one.names_samples());
        for warning in of_samples.chain(&self.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let mut remarks = notes(&warnings);
        if let Some(inversion) = &self.larger_is_slower {
            remarks = if remarks.is_empty() { "\n".into() } else { remarks };
            remarks.push_str(&format!("Note: {}\n", inversion.describe()));
        }
        if let Some(exclusion) = self.candidates.iter().find_map(|row| row.exclusion) {
            remarks = if remarks.is_empty() { "\n".into() } else { remarks };
            remarks.push_str(&format!("Out of memory: {exclusion}.\n"));
        }
        text + &remarks
    }

    /// Returns the verdict with the recommended configuration first, and its faster and cheaper
    /// alternatives.
    fn headline(&self) -> String {
        let probability = format_probability(self.question.probability);
        let is_priced = self.cost_unknown.is_none();
        let best = match (self.question.deadline_secs, self.question.budget) {
            (None, Some(_)) => "fastest configuration",
            _ if is_priced => "cheapest configuration",
            _ => "configuration of the fewest executor-hours",
        };
        let accurate = with_accuracy(self.question.min_accuracy);
        let verdict = match (&self.recommended, self.wish()) {
            (Some(_), Some(wish)) => {
                format!("The {best}{accurate} that is {wish} with a probability of at least {probability}:")
            }
            (Some(_), None) => format!("The {best}{accurate}, at any speed:"),
            (None, Some(wish)) => format!("No configuration{accurate} is {wish} with a probability of {probability}."),
            (None, None) if !accurate.is_empty() => format!("No configuration{accurate} is known."),
            (None, None) => "No configuration has a known time.".to_owned(),
        };
        let named = [
            ("RECOMMENDED", &self.recommended),
            ("next faster", &self.next_faster),
            ("fastest", &self.fastest),
            (if is_priced { "next cheaper" } else { "fewer hours" }, &self.next_cheaper),
            ("likeliest", if self.recommended.is_none() { &self.likeliest } else { &None }),
            (
                if is_priced { "cheapest" } else { "fewest hours" },
                if self.recommended.is_none() { &self.cheapest } else { &None },
            ),
        ];
        let mut shown: Vec<&PredictedCandidate> = Vec::new();
        let mut lines = Vec::new();
        for (name, row) in named {
            let Some(row) = row.as_ref().filter(|row| !shown.contains(row)) else { continue };
            shown.push(row);
            lines.push((name, row));
        }
        let letters = |(_, row): &(&str, &PredictedCandidate)| row.configuration().chars().count() + 2;
        let width = lines.iter().map(letters).max().unwrap_or(0).max(26);
        let letters = |(_, row): &(&str, &PredictedCandidate)| row.time().chars().count() + 2;
        let time_width = lines.iter().map(letters).max().unwrap_or(0).max(16);
        let line = |(name, row): &(&str, &PredictedCandidate)| {
            format!("  {name:<14}{:<width$}{:<time_width$}{}\n", row.configuration(), row.time(), self.money(row))
        };
        format!("{verdict}\n\n{}", lines.iter().map(line).collect::<String>())
    }

    /// Returns the heading of the probability column: the limits in the question, or `None` without
    /// any.
    fn limit(&self) -> Option<String> {
        let deadline = self.question.deadline_secs.map(|secs| format!("in {}", format_duration(secs)));
        let budget = self.question.budget.map(|money| format!("for {}", self.amount(money)));
        match (deadline, budget) {
            (Some(deadline), Some(budget)) => Some(format!("{deadline} {budget}")),
            (deadline, budget) => deadline.or(budget),
        }
    }

    fn cells(&self, row: &PredictedCandidate) -> Vec<String> {
        let mark = if row.exclusion.is_some() {
            "out of memory"
        } else if Some(row) == self.recommended.as_ref() {
            "recommended"
        } else if row.on_pareto_front {
            "on the front"
        } else {
            ""
        };
        vec![
            row.executors.to_string(),
            row.split().cores(),
            row.time(),
            row.interval.as_ref().map_or_else(|| "unknown".into(), range),
            self.money(row),
            self.success(row),
            accuracy_cell(row.accuracy.as_ref()),
            mark.to_owned(),
        ]
    }

    /// Formats the probability of meeting the limits. Without a spread, the predicted time counts
    /// as the median.
    fn success(&self, row: &PredictedCandidate) -> String {
        match row.success_probability {
            _ if self.question.deadline_secs.is_none() && self.question.budget.is_none() => String::new(),
            Some(probability) => bounded(probability, row.most_probability),
            None if row.burden.is_none() => "unknown".into(),
            None if self.cost_unknown.is_some() && self.question.budget.is_some() => "unknown".into(),
            None if row.is_predicted_to_keep(&self.question) => "≥ 50 %".into(),
            None => "< 50 %".into(),
        }
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
            "success_probability",
            "within_budget",
            "out_of_memory",
        ];
        let columns = [&columns[..], &ACCURACY_COLUMNS].concat();
        let cells = |row: &PredictedCandidate| {
            let mut cells = vec![
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
                number(row.success_probability),
                row.within_budget.to_string(),
                row.exclusion.is_some().to_string(),
            ];
            cells.extend(accuracy_cells(row.accuracy.as_ref()));
            cells
        };
        split::csv(&columns, self.candidates.iter().map(|row| (row.total_cores, cells(row))))
    }
}

/// Formats a probability. Beyond the largest held-out error it is only bounded from one side.
fn bounded(probability: f64, most: Option<f64>) -> String {
    let text = format_probability(probability);
    match most.filter(|most| *most < 0.99) {
        Some(most) if probability >= most => format!("≥ {text}"),
        Some(most) if probability > 0.01 && probability <= 1.0 - most => format!("≤ {text}"),
        _ => text,
    }
}
