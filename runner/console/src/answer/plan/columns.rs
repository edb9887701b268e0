//! The columns of a plan, on the terminal and in CSV. A new column is a line here.

use foreglow_model::Arm;

use super::{PlanAnswer, Row};
use crate::answer::accuracy::{ACCURACY_COLUMNS, accuracy_cell, accuracy_cells};
use crate::answer::{probability, range};
use crate::split;
use crate::table::{Align, number};

/// Text of a configuration in a column.
type Cell<'a> = Box<dyn Fn(&Row) -> String + 'a>;

/// Text of a configuration in CSV.
type CellOf<'a> = &'a dyn Fn(&Row) -> String;

/// A column of the table of configurations.
pub(super) struct Column<'a> {
    pub(super) title: String,
    pub(super) align: Align,
    pub(super) cell: Cell<'a>,
}

impl PlanAnswer {
    /// Returns the columns that say something about these rows.
    pub(super) fn columns<'a>(&'a self, rows: &[&Row]) -> Vec<Column<'a>> {
        use Align::{Left, Right};
        let vary = |size: fn(&Arm) -> u32| self.measured.iter().any(|arm| size(arm) != size(&self.measured[0]));
        let interval = rows.iter().find_map(|row| row.interval.as_ref());
        let interval =
            interval.map_or_else(|| "interval".into(), |interval| format!("{} interval", probability(interval)));
        let has_machines = self.compares_arms() || self.rents_machines();
        let has_accuracy = self.candidates.iter().any(|row| row.accuracy.is_some());
        let is_borrowed = rows.iter().any(|row| row.basis.borrowed_from().is_some());
        let limit = self.limit();
        let mut columns: Vec<Column> = Vec::new();
        let mut add = |is_shown: bool, title: &str, align, cell: Cell<'a>| {
            if is_shown {
                columns.push(Column { title: title.to_owned(), align, cell });
            }
        };
        add(has_machines, "machines", Left, Box::new(|row| row.description.clone()));
        add(!has_machines, "executors", Right, Box::new(|row| row.executors.to_string()));
        add(!has_machines, "cores", Right, Box::new(|row| row.split().cores()));
        add(vary(|arm| arm.batch_size), "batch", Right, Box::new(|row| row.batch_size.to_string()));
        add(vary(|arm| arm.partition_size), "partition", Right, Box::new(|row| row.partition_size.to_string()));
        let memory = |row: &Row| format!("{} MiB", row.memory_per_executor_mib);
        add(self.common_memory().is_none(), "memory each", Right, Box::new(memory));
        add(true, "time", Right, Box::new(Row::time));
        let of_interval = |row: &Row| row.interval.as_ref().map_or_else(|| "unknown".into(), range);
        add(true, &interval, Left, Box::new(of_interval));
        add(true, "cost", Right, Box::new(|row| self.money(row)));
        add(!limit.is_empty(), &limit, Right, Box::new(|row| self.success(row)));
        add(has_accuracy, "accuracy", Left, Box::new(|row| accuracy_cell(row.accuracy.as_ref())));
        let from = |row: &Row| row.basis.borrowed_from().unwrap_or("its own runs").to_owned();
        add(is_borrowed, "from", Left, Box::new(from));
        add(true, "", Left, Box::new(|row| self.mark(row).to_owned()));
        columns
    }

    /// Returns what distinguishes a configuration.
    fn mark(&self, row: &Row) -> &'static str {
        match &row.exclusion {
            Some(exclusion) if exclusion.is_about_memory() => "out of memory",
            Some(_) => "not known",
            None if Some(row) == self.recommended.as_ref() => "recommended",
            None if row.on_pareto_front => "on the front",
            None => "",
        }
    }

    pub(super) fn csv(&self) -> String {
        let columns: [(&str, CellOf); 25] = [
            ("machine", &|row| row.machine.clone()),
            ("machines", &|row| count(row.machines)),
            ("executors", &|row| row.executors.to_string()),
            ("executors_per_machine", &|row| count(row.executors_per_machine)),
            ("cores_per_executor", &|row| row.cores_per_executor.to_string()),
            ("memory_per_executor_mib", &|row| row.memory_per_executor_mib.to_string()),
            ("batch_size", &|row| row.batch_size.to_string()),
            ("average_every", &|row| count(row.average_every)),
            ("partition_size", &|row| row.partition_size.to_string()),
            ("completion_time_secs", &|row| number(row.completion_time_secs)),
            ("lower_secs", &|row| number(row.interval.map(|interval| interval.lower_secs))),
            ("upper_secs", &|row| number(row.interval.map(|interval| interval.upper_secs))),
            ("probability", &|row| number(row.interval.map(|interval| interval.probability))),
            ("cost", &|row| number(row.cost)),
            ("currency", &|_| self.currency.clone()),
            ("hourly_cost", &|row| number(row.hourly_cost)),
            ("success_probability", &|row| number(row.success_probability)),
            ("meets_deadline", &|row| row.meets_deadline.to_string()),
            ("within_budget", &|row| row.within_budget.to_string()),
            ("is_feasible", &|row| row.is_feasible.to_string()),
            ("on_pareto_front", &|row| row.on_pareto_front.to_string()),
            ("is_best_of_machine", &|row| row.is_best_of_machine.to_string()),
            ("recommended", &|row| (Some(row) == self.recommended.as_ref()).to_string()),
            ("basis", &|row| row.basis.name().to_owned()),
            ("exclusion", &|row| row.exclusion.as_ref().map(ToString::to_string).unwrap_or_default()),
        ];
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).chain(ACCURACY_COLUMNS).collect();
        let cells = |row: &Row| {
            let own = columns.iter().map(|(_, cell)| cell(row));
            own.chain(accuracy_cells(row.accuracy.as_ref())).collect()
        };
        split::csv(&names.join(","), self.candidates.iter().map(|row| (row.total_cores, cells(row))))
    }
}

fn count(count: Option<u32>) -> String {
    number(count.map(f64::from))
}
