//! The columns of a plan, on the terminal and in CSV. A new column is a line here.

use foreglow_model::Arm;
use serde::Serialize;

use super::{PlanAnswer, Row};
use crate::answer::accuracy::accuracy_cell;
use crate::answer::{probability, range};
use crate::split::with_total;
use crate::table::{Align, csv_of};

/// Text of a configuration in a column.
type Cell<'a> = Box<dyn Fn(&Row) -> String + 'a>;

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
        let vary = |size: fn(&Arm) -> u32| self.arms.iter().any(|arm| size(arm) != size(&self.arms[0]));
        let interval = rows.iter().find_map(|row| row.interval.as_ref());
        let interval =
            interval.map_or_else(|| "interval".into(), |interval| format!("{} interval", probability(interval)));
        let has_machines = self.compares_arms() || self.rents_machines();
        let has_accuracy = self.candidates.iter().any(|row| row.accuracy.is_some());
        let is_borrowed = rows.iter().any(|row| row.basis.borrowed_from().is_some());
        let (limit, cost) = (self.limit(), self.cost_title());
        let mut columns: Vec<Column> = Vec::new();
        let mut add = |is_shown: bool, title: &str, align, cell: Cell<'a>| {
            if is_shown {
                columns.push(Column { title: title.to_owned(), align, cell });
            }
        };
        add(has_machines, "machines", Left, Box::new(|row| row.description.clone()));
        add(!has_machines, "executors", Right, Box::new(|row| row.split.executors.to_string()));
        add(!has_machines, "cores", Right, Box::new(|row| row.split.cores()));
        add(vary(|arm| arm.batch_size), "batch", Right, Box::new(|row| row.batch_size.to_string()));
        add(vary(|arm| arm.partition_size), "partition", Right, Box::new(|row| row.partition_size.to_string()));
        let memory = |row: &Row| format!("{} MiB", row.memory_per_executor_mib);
        add(self.common_memory().is_none(), "memory each", Right, Box::new(memory));
        add(true, "time", Right, Box::new(Row::time));
        let of_interval = |row: &Row| row.interval.as_ref().map_or_else(|| "unknown".into(), range);
        add(true, &interval, Left, Box::new(of_interval));
        add(true, &cost, Right, Box::new(|row| self.money(row)));
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
        let columns = "machine,machines,executors,executors_per_machine,cores_per_executor,memory_per_executor_mib,\
            batch_size,average_every,partition_size,completion_time_secs,lower_secs=interval.lower_secs,\
            upper_secs=interval.upper_secs,probability=interval.probability,cost,currency,hourly_cost,\
            success_probability,meets_deadline,within_budget,is_feasible,on_pareto_front,is_best_of_machine,\
            recommended,basis=name_of_basis,exclusion=why_excluded,accuracy=accuracy.mean,\
            accuracy_lower=accuracy.lower,accuracy_upper=accuracy.upper,accuracy_runs=accuracy.runs";
        let columns = with_total(columns, self.candidates.iter().map(|row| row.split));
        let rows = self.candidates.iter().map(|row| CsvRow {
            row,
            currency: &self.currency,
            is_best_of_machine: row.is_best_of_machine,
            recommended: Some(row) == self.recommended.as_ref(),
            name_of_basis: row.basis.name(),
            why_excluded: row.exclusion.as_ref().map(ToString::to_string),
        });
        csv_of(&columns, rows)
    }
}

/// A row with what its JSON lacks or says otherwise.
#[derive(Serialize)]
struct CsvRow<'a> {
    #[serde(flatten)]
    row: &'a Row,
    currency: &'a str,
    is_best_of_machine: bool,
    recommended: bool,
    name_of_basis: &'static str,
    why_excluded: Option<String>,
}
