//! Output formats of a plan.

use foreglow_model::{Objective, SizesFrom, Warning};
use foreglow_shared::{Engine, format_count, format_duration, format_probability, format_rate};

use super::{Origin, PlanAnswer, Row};
use crate::answer::accuracy::{accuracy_notes, with_accuracy};
use crate::answer::{Basis, LogBasis, cost_note, notes, public};
use crate::output::Format;
use crate::table::{Align, aligned, table};

/// Limit on the configurations of a table; of more, it shows the Pareto front.
const MAX_ROWS: usize = 40;

impl PlanAnswer {
    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    pub(in crate::answer) fn table(&self) -> String {
        let described = self.never_run.as_ref().map(Basis::describe);
        let described = described.or(self.public_measurements.as_ref().map(public::describe));
        let described = described.or(self.event_logs.as_ref().map(LogBasis::describe));
        let basis = described.map_or_else(String::new, |basis| format!("{basis}\n\n"));
        let mut text = format!("{}\n\n{basis}{}", self.title, self.headline());
        text.push_str(&self.tables());
        text.push_str(&self.accuracies());
        text.push_str(&self.prices());
        text.push_str(&self.cost_unknown.as_deref().map_or_else(String::new, cost_note));
        let recommended = self.recommended.as_ref().and_then(|row| row.accuracy.as_ref());
        text.push_str(&accuracy_notes(self.candidates.iter().filter_map(|row| row.accuracy.as_ref()), recommended));
        if let Some(startup) = &self.startup {
            text.push_str(&startup.describe(self.rents_machines()));
        } else if self.measured.iter().any(|arm| arm.engine == Engine::Command) {
            text.push_str(
                "Start-up is part of these times: no run reported its progress. The fit separates it by the amounts of work.\n",
            );
        }
        if let Some(arguments) = &self.spark_submit {
            text.push_str(&format!("\nThe recommended one for spark-submit:\n  {arguments}\n"));
        }
        text.push_str(&self.event_logs.as_ref().map_or_else(String::new, LogBasis::table));
        text.push_str(&self.remarks());
        text.push_str(&self.public_measurements.as_ref().map_or_else(String::new, public::notes));
        while text.contains("\n\n\n") {
            text = text.replace("\n\n\n", "\n\n");
        }
        text
    }

    /// Returns the verdict with the recommended configuration first, and its alternatives.
    fn headline(&self) -> String {
        let probability = format_probability(self.limits.probability);
        let best = self.best();
        let limited = format!("{}{}", self.on_machines(), with_accuracy(self.limits.min_accuracy));
        let verdict = match (&self.recommended, self.describe_limits()) {
            _ if self.compared == 0 => "No configuration can be compared, for the reasons below.".to_owned(),
            (Some(_), Some(limits)) => {
                format!("The {best}{limited} that is {limits} with a probability of at least {probability}:")
            }
            (Some(_), None) => format!("The {best}{limited}, at any speed:"),
            (None, Some(limits)) => {
                format!("No configuration{limited} is {limits} with a probability of {probability}.")
            }
            (None, None) if !limited.is_empty() => format!("No configuration{limited} is known."),
            (None, None) => "No configuration has a known time.".to_owned(),
        };
        let [as_cheap, cheaper, cheapest] = match self.objective {
            Objective::Cost => ["as cheap", "next cheaper", "cheapest"],
            Objective::ExecutorHours | Objective::Time => ["as few hours", "fewer hours", "fewest hours"],
        };
        let without = |row| if self.recommended.is_none() { row } else { &None };
        let named = [
            ("RECOMMENDED", &self.recommended),
            (as_cheap, &self.as_cheap),
            ("next faster", &self.next_faster),
            ("fastest", &self.fastest),
            (cheaper, &self.next_cheaper),
            ("likeliest", &self.likeliest),
            (cheapest, without(&self.cheapest)),
        ];
        let mut shown: Vec<&Row> = Vec::new();
        let mut lines = Vec::new();
        for (name, row) in named {
            let Some(row) = row.as_ref().filter(|row| !shown.contains(row)) else { continue };
            shown.push(row);
            let sizes = if self.compares_arms() { row.description_with_sizes.clone() } else { self.name(row) };
            lines.push(vec![format!("  {name}"), sizes, row.time(), self.money(row)]);
        }
        let cost = self.cost_title();
        let columns = aligned(["<", if self.compares_arms() { "<machines" } else { "<configuration" }, "time", &cost]);
        let alternatives = if lines.is_empty() { String::new() } else { table(&columns, lines) };
        let tie = match &self.as_cheap {
            Some(_) => {
                "\nThe first two cost the same within the error of the prediction; the faster one is recommended.\n"
            }
            None => "",
        };
        format!("{verdict}\n\n{alternatives}{tie}{}", self.other_cost())
    }

    /// Returns the tables of the best of each machine type, and of all configurations or the front.
    fn tables(&self) -> String {
        let at = |places: &[usize]| places.iter().map(|place| &self.candidates[*place]).collect::<Vec<&Row>>();
        let mut text = String::new();
        // With one configuration for each machine type, the best are all of them.
        if self.best_per_machine.len() > 1 && self.best_per_machine.len() < self.compared {
            text.push_str(&format!(
                "\nBest of each machine type:\n{}",
                self.rows(&self.best_per_machine.iter().collect::<Vec<&Row>>())
            ));
        }
        let as_cheap = match self.objective {
            Objective::Cost => "as cheap",
            Objective::ExecutorHours | Objective::Time => "of as few executor-hours",
        };
        let front = format!("On the Pareto front: no other configuration is both as fast and {as_cheap}.");
        let count = format_count(self.compared, "configuration");
        if self.candidates.len() <= MAX_ROWS && self.compared <= self.candidates.len() {
            let is_all = self.best_per_machine.len() == self.candidates.len();
            let all = if is_all { &self.best_per_machine } else { &self.candidates };
            let all: Vec<&Row> = all.iter().collect();
            let title = if text.is_empty() { "" } else { "Every configuration:\n" };
            let front = if self.pareto.is_empty() { String::new() } else { format!("\n{front}\n") };
            text.push_str(&format!("\n{title}{}{front}", self.rows(&all)));
        } else {
            let title = if self.pareto.is_empty() { String::new() } else { format!("{front}\n") };
            text.push_str(&format!("\n{title}{}\n{count} were compared.\n", self.rows(&at(&self.pareto))));
        }
        text
    }

    fn rows(&self, rows: &[&Row]) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let columns = self.columns(rows);
        let titles: Vec<(&str, Align)> = columns.iter().map(|column| (column.title.as_str(), column.align)).collect();
        table(&titles, rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect()))
    }

    /// Returns the sentences about prices.
    fn prices(&self) -> String {
        let mut text = String::new();
        if self.rents_machines() {
            let rented = self.candidates.iter().filter(|row| row.machines.is_some());
            let dates: Vec<String> = rented.filter_map(|row| Some(row.price_date?.to_string())).collect();
            let oldest =
                dates.iter().min().map_or_else(|| "of unknown date".to_owned(), |date| format!("of {date} or later"));
            text.push_str(&format!(
                "Whole machines are billed by the second, with the provider's minimum; prices {oldest} (`foreglow machines`).\n"
            ));
        }
        let whose = if self.rents_machines() { "Machines that the catalog lacks" } else { "Prices" };
        match self.sheets.as_slice() {
            [] => {}
            [(_, first), others @ ..] if others.iter().all(|(_, sheet)| sheet == first) => {
                let off = match first.discount {
                    discount if discount > 0.0 => format!(", {:.4} % off", discount * 100.0),
                    _ => String::new(),
                };
                text.push_str(&format!("{whose}: {}, {}{off}.\n", first.name, first.date));
            }
            sheets => {
                text.push_str(&format!("{whose}:\n"));
                for (machine, sheet) in sheets {
                    text.push_str(&format!("  {machine}: {}, {}\n", sheet.name, sheet.date));
                }
            }
        }
        if let Some(share) = self.core_share.filter(|_| !self.sheets.is_empty()) {
            text.push_str(&format!("A core is {} of a processor here, and is charged as such.\n", format_rate(share)));
        }
        // Public measurements do not tell the memory of the processes.
        let is_public = self.candidates.iter().all(|row| row.basis == Origin::Public);
        if let Some(memory) = self.common_memory().filter(|_| !is_public) {
            text.push_str(&format!("Memory: {memory} MiB per executor.\n"));
        }
        if self.limits.spot {
            text.push_str(
                "Spot prices: the provider may take the machines back at any time, and then the job starts again; the times \
                 and costs here assume that it does not.\n",
            );
        }
        if text.is_empty() { text } else { format!("\n{text}") }
    }

    /// Returns the memory of an executor, if it is the same everywhere.
    pub(super) fn common_memory(&self) -> Option<u32> {
        let first = self.candidates.first()?.memory_per_executor_mib;
        self.candidates.iter().all(|row| row.memory_per_executor_mib == first).then_some(first)
    }

    /// Returns the configurations that cannot be recommended, and the warnings.
    fn remarks(&self) -> String {
        let mut text = String::new();
        if !self.omitted.is_empty() {
            text.push_str("\nNot recommended:\n");
            for omission in &self.omitted {
                let count = match omission.configurations {
                    0 => String::new(),
                    count => format!(" ({})", format_count(count, "configuration")),
                };
                text.push_str(&format!("  {}{count}: {}\n", omission.machine, omission.reason));
            }
        }
        let mut assumed: Vec<&str> = Vec::new();
        let is_assumed = |row: &&Row| row.sizes_from == SizesFrom::OtherDevices && row.basis != Origin::Public;
        for row in self.candidates.iter().filter(is_assumed) {
            if !assumed.contains(&row.machine.as_str()) {
                assumed.push(&row.machine);
            }
        }
        if !assumed.is_empty() {
            text.push_str(&format!(
                "\nThe memory and the partition size on {} are those of the job's runs elsewhere; measure a run there before \
                 you rely on them.\n",
                assumed.join(", ")
            ));
        }
        let shown = self.recommended.as_ref().or(self.fastest.as_ref());
        text.push_str(&notes(&self.shown_warnings()));
        let mut note = |sentence: &str| {
            let gap = if text.ends_with(".\n") && text.contains("Note: ") { "" } else { "\n" };
            text.push_str(&format!("{gap}Note: {sentence}\n"));
        };
        if let Some(samples) = &self.named_samples {
            note(&format!("{samples}."));
        }
        if let Some(inversion) = &self.larger_is_slower {
            note(&inversion.describe());
        }
        if shown.is_some_and(|row| row.is_beyond_one_machine) {
            note(
                "the samples ran on one machine at a time; executors on several machines also wait for the network, which \
                 was not measured.",
            );
        }
        text
    }

    /// Returns the warnings about the recommended or else the fastest configuration, and about the
    /// samples.
    pub(super) fn shown_warnings(&self) -> Vec<Warning> {
        let shown = self.recommended.as_ref().or(self.fastest.as_ref());
        let mut warnings = shown.map_or_else(Vec::new, |row| row.warnings.clone());
        // A run that was stopped later than predicted puts the time in any row in doubt.
        let of_samples = self.candidates.iter().flat_map(|row| &row.warnings).filter(|one| one.names_samples());
        for warning in of_samples.chain(&self.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        warnings
    }

    /// Returns the heading of the probability column: the limits in the question; empty without
    /// any.
    pub(super) fn limit(&self) -> String {
        let deadline = self.limits.deadline_secs.map(|secs| format!("in {}", format_duration(secs)));
        let budget = self.limits.budget.map(|money| format!("for {}", self.amount(money)));
        deadline.into_iter().chain(budget).collect::<Vec<_>>().join(" ")
    }

    /// Formats the probability of meeting the limits. Without a spread, the predicted time counts
    /// as the median.
    pub(super) fn success(&self, row: &Row) -> String {
        match row.success_probability {
            Some(probability) => bounded(probability, row.most_probability),
            None if row.exclusion.is_some() => String::new(),
            None if row.objective.is_none() => "unknown".into(),
            None if row.cost.is_none() && self.limits.budget.is_some() => "unknown".into(),
            None if self.is_predicted_to_keep(row) => "≥ 50 %".into(),
            None => "< 50 %".into(),
        }
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
