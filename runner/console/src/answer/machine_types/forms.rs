//! Output formats of a decision over machine types.

use foreglow_model::{Arm, SizesFrom, Warning};
use foreglow_shared::{format_duration, format_money, format_probability};

use super::{MachineAnswer, MachineRow};
use crate::answer::accuracy::{ACCURACY_COLUMNS, accuracy_cell, accuracy_cells, accuracy_notes, with_accuracy};
use crate::answer::{notes, range};
use crate::output::Format;
use crate::split;
use crate::table::{Align, number, table, titled_table};

impl MachineAnswer {
    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n{}", self.job.title(), self.headline());
        if !self.best_per_machine.is_empty() {
            text.push_str("\nBest of each machine type:\n");
            text.push_str(&self.rows(&self.best_per_machine));
        }
        if self.pareto.len() > 1 {
            text.push_str("\nNo other configuration is both as fast and as cheap:\n");
            text.push_str(&self.rows(&self.pareto));
        }
        text.push_str(&self.accuracies());
        let were = if self.weighed == 1 { "configuration was" } else { "configurations were" };
        text.push_str(&format!("\n{} {were} compared.", self.weighed));
        text.push_str(&self.prices());
        if let Some(startup) = &self.startup {
            text.push_str(&format!(
                "Start-up, excluded from these times: median {} in the samples; machines are billed for it.\n",
                format_duration(startup.median_secs())
            ));
        }
        if let Some(arguments) = &self.spark_submit {
            text.push_str(&format!("\nThe recommended one for spark-submit:\n  {arguments}\n"));
        }
        let recommended = self.recommended.as_ref().and_then(|row| row.accuracy.as_ref());
        text.push_str(&accuracy_notes(self.trained.iter().map(|row| &row.accuracy), recommended));
        text + &self.remarks()
    }

    /// Returns the recommended configuration and its alternatives.
    fn headline(&self) -> String {
        let best = match (self.limits.deadline_secs, self.limits.budget) {
            (None, Some(_)) => "fastest",
            _ => "cheapest",
        };
        let probability = format_probability(self.limits.probability);
        let limited = format!("{}{}", self.on_machines(), with_accuracy(self.limits.min_accuracy));
        let verdict = match (&self.recommended, self.wish()) {
            _ if self.weighed == 0 => "No configuration can be compared, for the reasons below.".to_owned(),
            (Some(_), Some(wish)) => format!(
                "The {best} configuration{limited} that is {wish} with a probability of at least {probability}:"
            ),
            (Some(_), None) => format!("The {best} configuration{limited}, at any speed:"),
            (None, None) if !limited.is_empty() => format!("No configuration{limited} is known."),
            (None, Some(wish)) if self.cheapest.is_some() || self.fastest_is_late() => {
                format!("No configuration{limited} is {wish} with a probability of {probability}.")
            }
            (None, _) => "No configuration has a known price.".to_owned(),
        };
        let named = [
            ("RECOMMENDED", &self.recommended),
            ("fastest", &self.fastest),
            ("cheapest", &self.cheapest),
            ("likeliest", &self.likeliest),
        ];
        let mut shown: Vec<&MachineRow> = Vec::new();
        let mut lines = Vec::new();
        for (name, row) in named {
            let Some(row) = row.as_ref().filter(|row| !shown.contains(row)) else { continue };
            shown.push(row);
            lines.push(vec![name.to_owned(), row.description_with_sizes.clone(), row.time(), self.money(row)]);
        }
        let columns = [("", Align::Left), ("machines", Align::Left), ("time", Align::Right), ("cost", Align::Right)];
        let table = if lines.is_empty() { String::new() } else { format!("\n{}", table(&columns, lines)) };
        format!("{verdict}\n{table}")
    }

    /// Whether configurations with several sizes are compared.
    fn vary(&self, size: fn(&Arm) -> u32) -> bool {
        self.measured.iter().any(|arm| size(arm) != size(&self.measured[0]))
    }

    fn rows(&self, rows: &[MachineRow]) -> String {
        let (has_batches, has_sizes) = (self.vary(|arm| arm.batch_size), self.vary(|arm| arm.partition_size));
        let limit = if self.limits.deadline_secs.is_some() || self.limits.budget.is_some() { "chance" } else { "" };
        let accuracy = if self.trained.is_empty() { "" } else { "accuracy" };
        let columns = [
            ("machines", Align::Left),
            (if has_batches { "batch" } else { "" }, Align::Right),
            (if has_sizes { "partition" } else { "" }, Align::Right),
            ("memory each", Align::Right),
            ("time", Align::Right),
            ("90 % interval", Align::Left),
            ("cost", Align::Right),
            (limit, Align::Right),
            (accuracy, Align::Left),
            ("from", Align::Left),
        ];
        let cells = |row: &MachineRow| {
            vec![
                row.description.clone(),
                row.batch_size.to_string(),
                row.partition_size.to_string(),
                format!("{} MiB", row.memory_per_executor_mib),
                row.time(),
                row.interval.as_ref().map_or_else(|| "unknown".into(), range),
                self.money(row),
                row.success_probability.map_or_else(String::new, format_probability),
                accuracy_cell(row.accuracy.as_ref()),
                row.basis.borrowed_from().unwrap_or("its own runs").to_owned(),
            ]
        };
        titled_table(&columns, rows.iter().map(cells))
    }

    fn money(&self, row: &MachineRow) -> String {
        row.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &self.currency))
    }

    /// Returns the sentences about prices.
    fn prices(&self) -> String {
        let rented = || self.best_per_machine.iter().filter(|row| row.machines.is_some());
        let mut text = "\n".to_owned();
        if rented().next().is_some() {
            let dates: Vec<String> = rented().filter_map(|row| Some(row.price_date?.to_string())).collect();
            let oldest =
                dates.iter().min().map_or_else(|| "of unknown date".to_owned(), |date| format!("of {date} or later"));
            text.push_str(&format!(
                "Whole machines are billed by the second, with the provider's minimum; prices {oldest} (`foreglow machines`).\n"
            ));
        }
        match self.sheets.as_slice() {
            [] => {}
            [(_, first), others @ ..] if others.iter().all(|(_, sheet)| sheet == first) => {
                text.push_str(&format!("Machines that the catalog lacks: {}, {}.\n", first.name, first.date));
            }
            sheets => {
                text.push_str("Machines that the catalog lacks:\n");
                for (machine, sheet) in sheets {
                    text.push_str(&format!("  {machine}: {}, {}\n", sheet.name, sheet.date));
                }
            }
        }
        if self.limits.spot {
            text.push_str(
                "Spot prices: the provider may take the machines back at any time, and then the job starts again; the times \
                 and costs here assume that it does not.\n",
            );
        }
        text
    }

    /// Returns the omitted configurations with the reasons, and the warnings of the recommended
    /// one.
    fn remarks(&self) -> String {
        let mut text = String::new();
        if !self.omitted.is_empty() {
            text.push_str("\nNot compared:\n");
            for omission in &self.omitted {
                let count = match omission.configurations {
                    0 => String::new(),
                    1 => " (1 configuration)".to_owned(),
                    count => format!(" ({count} configurations)"),
                };
                text.push_str(&format!("  {}{count}: {}\n", omission.machine, omission.reason));
            }
        }
        let mut assumed: Vec<&str> = Vec::new();
        for row in self.best_per_machine.iter().filter(|row| row.sizes_from == SizesFrom::OtherDevices) {
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
        let warnings: &[Warning] = shown.map_or(&[], |row| &row.warnings);
        text.push_str(&notes(warnings));
        if shown.is_some_and(|row| row.is_beyond_one_machine) {
            text.push_str(
                "Note: the samples ran on one machine at a time; executors on several machines also wait for the network, \
                 which was not measured.\n",
            );
        }
        text
    }

    fn csv(&self) -> String {
        let columns = [
            "what",
            "machine",
            "machines",
            "executors",
            "executors_per_machine",
            "cores_per_executor",
            "memory_per_executor_mib",
            "batch_size",
            "partition_size",
            "completion_time_secs",
            "lower_secs",
            "upper_secs",
            "cost",
            "hourly_cost",
            "success_probability",
            "is_feasible",
            "average_every",
        ];
        let columns = [&columns[..], &ACCURACY_COLUMNS].concat();
        let named = [
            ("recommended", self.recommended.as_slice()),
            ("fastest", self.fastest.as_slice()),
            ("cheapest", self.cheapest.as_slice()),
            ("likeliest", self.likeliest.as_slice()),
            ("best_of_machine", &self.best_per_machine),
            ("pareto", &self.pareto),
        ];
        let count = |count: Option<u32>| number(count.map(f64::from));
        let rows = named.into_iter().flat_map(|(what, rows)| rows.iter().map(move |row| (what, row)));
        let cells = rows.map(|(what, row)| {
            let mut cells = vec![
                what.to_owned(),
                row.machine.clone(),
                count(row.machines),
                row.executors.to_string(),
                count(row.executors_per_machine),
                row.cores_per_executor.to_string(),
                row.memory_per_executor_mib.to_string(),
                row.batch_size.to_string(),
                row.partition_size.to_string(),
                number(row.completion_time_secs),
                number(row.interval.map(|interval| interval.lower_secs)),
                number(row.interval.map(|interval| interval.upper_secs)),
                number(row.cost),
                number(row.hourly_cost),
                number(row.success_probability),
                row.is_feasible.to_string(),
                count(row.average_every),
            ];
            cells.extend(accuracy_cells(row.accuracy.as_ref()));
            (row.total_cores, cells)
        });
        split::csv(&columns, cells)
    }
}
