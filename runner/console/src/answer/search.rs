//! The configuration of a table to run next, and the best so far.

use foreglow_exit::unusable;
use foreglow_model::{Probe, Proposal, SearchTable, Strategy, Warning};
use foreglow_shared::{format_duration, format_percent};
use serde::{Serialize, Serializer};

use super::{SCHEMA, notes};
use crate::output::Format;
use crate::table::{aligned, csv, number, table};

/// Advice on a table of candidate configurations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchAnswer {
    schema: u32,
    /// Runs that were made.
    runs: usize,
    /// The configuration to run next; `None` if all were run.
    next: Option<Properties>,
    next_cost: Option<f64>,
    /// The cheapest configuration that was run and met the deadline; its time is the median.
    best: Option<Properties>,
    best_secs: Option<f64>,
    best_cost: Option<f64>,
    /// The fastest configuration that was run, if none met the deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    fastest: Option<Properties>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fastest_secs: Option<f64>,
    expected_saving: Option<f64>,
    is_enough: bool,
    /// Configurations whose runs contradict each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    #[serde(skip)]
    deadline_secs: Option<f64>,
    #[serde(skip)]
    strategy: Strategy,
}

/// Columns and cells of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties(pub Vec<(String, String)>);

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(column, cell)| (column, cell)))
    }
}

impl std::fmt::Display for Properties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells: Vec<String> = self.0.iter().map(|(column, cell)| format!("{column} {cell}")).collect();
        f.write_str(&cells.join(", "))
    }
}

impl SearchAnswer {
    /// Proposes the next run; `properties` are those of each row of the table.
    ///
    /// # Errors
    /// The runs cannot be fitted.
    pub fn new(
        table: &SearchTable,
        properties: &[Properties],
        probes: &[Probe],
        deadline_secs: Option<f64>,
        strategy: Strategy,
    ) -> anyhow::Result<Self> {
        let deadline = deadline_secs.unwrap_or(f64::INFINITY);
        let proposal = table.propose(probes, deadline, strategy).map_err(|error| unusable(error.to_string()))?;
        let Proposal { next, cost, expected_saving, is_enough, .. } = proposal;
        let of = |row: usize| properties[row].clone();
        let best = table.best(probes, deadline);
        let fastest = if best.is_some() { None } else { SearchTable::fastest(probes) };
        Ok(Self {
            schema: SCHEMA,
            runs: probes.len(),
            next: next.map(of),
            next_cost: cost,
            best: best.map(|probe| of(probe.candidate)),
            best_secs: best.map(|probe| probe.secs),
            best_cost: best.map(|probe| probe.secs * table.prices[probe.candidate]),
            fastest: fastest.map(|probe| of(probe.candidate)),
            fastest_secs: fastest.map(|probe| probe.secs),
            expected_saving,
            is_enough,
            warnings: SearchTable::warnings(probes, &|row| properties[row].to_string()),
            deadline_secs,
            strategy,
        })
    }

    /// Checks that the search has an answer.
    ///
    /// # Errors
    /// Every configuration was run, and none met the deadline.
    pub fn check(&self) -> anyhow::Result<()> {
        match (&self.next, &self.fastest, self.fastest_secs, self.deadline_secs) {
            (None, Some(fastest), Some(secs), Some(deadline)) => anyhow::bail!(
                "no configuration of the table met the deadline of {}: the fastest, {fastest}, took {}; allow more \
                 time, or add faster configurations",
                format_duration(deadline),
                format_duration(secs)
            ),
            _ => Ok(()),
        }
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn csv(&self) -> String {
        let row = |what: &str, properties: &Option<Properties>, cost: Option<f64>| {
            let properties = properties.as_ref().map_or_else(String::new, Properties::to_string);
            vec![what.to_owned(), properties, number(cost)]
        };
        let rows = [row("next", &self.next, self.next_cost), row("best", &self.best, self.best_cost)];
        csv("what,configuration,cost", rows)
    }

    fn table(&self) -> String {
        let verdict = match (&self.next, self.is_enough, &self.fastest) {
            (None, ..) => "Stop: every configuration was run.".to_owned(),
            (_, true, _) => {
                let least = 100.0 * self.strategy.least_saving().unwrap_or(0.0);
                format!("Stop: no further run is expected to save {least:.0} % of the best cost.")
            }
            (_, false, Some(_)) => "Go on: no run met the deadline yet.".to_owned(),
            (_, false, None) => "Go on: run the next configuration and ask again.".to_owned(),
        };
        let money = |cost: Option<f64>| cost.map_or_else(|| "unknown".to_owned(), |cost| format!("{cost:.4}"));
        let time = |secs: Option<f64>| secs.map_or_else(String::new, format_duration);
        let rows = [
            ("next", &self.next, String::new(), money(self.next_cost)),
            ("best", &self.best, time(self.best_secs), money(self.best_cost)),
            ("fastest", &self.fastest, time(self.fastest_secs), String::new()),
        ];
        let rows = rows.into_iter().filter_map(|(what, properties, time, cost)| {
            Some(vec![what.to_owned(), properties.as_ref()?.to_string(), time, cost])
        });
        let columns = aligned(["<", "<configuration", "time", "cost"]);
        let saving = self.expected_saving.map_or_else(String::new, |saving| {
            format!("\nOne more run is expected to save {} of the best cost.\n", format_percent(100.0 * saving))
        });
        format!("{verdict}\n\n{}{saving}{}", table(&columns, rows), notes(&self.warnings))
    }
}
