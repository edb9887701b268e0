//! The dry run of a sweep: its runs with their expected time and cost.

use foreglow_console::output::Format;
use foreglow_console::table::{Align, csv, narrowing_table, wrapped};
use foreglow_data::images_in_sample;
use foreglow_engine::sweep::{Forecast, Run, cost};
use foreglow_shared::{CoreSplit, PriceSheet, format_count, format_duration, format_money, format_rate};

/// Columns of the CSV.
const NAMES: [&str; 12] = [
    "executors",
    "cores_per_executor",
    "memory_per_executor_mib",
    "partition_size",
    "image_px",
    "batch_size",
    "sampling_rate",
    "images",
    "repetition",
    "secs",
    "cost",
    "words",
];

/// Number of these columns in the table, whose pixel column holds the words for texts.
const SHOWN: usize = 11;

/// A run with its expected time and cost.
struct Planned<'a> {
    run: &'a Run,
    images: u64,
    /// Wall-clock time including the start-up, seconds.
    secs: Option<f64>,
    cost: Option<f64>,
}

/// Lists the runs of a sweep. Runs without a forecast have no time.
pub fn list(runs: &[Run], forecast: &Forecast, prices: &PriceSheet, format: Format) -> String {
    let plan = |run| Planned::of(run, forecast, prices);
    let planned: Vec<Planned> = runs.iter().map(plan).collect();
    match format {
        Format::Table => {
            let unit = runs.first().map_or("px", |run| run.workload.input_size().1);
            let columns = NAMES.map(|name| match name {
                "cores_per_executor" => "cores",
                "memory_per_executor_mib" => "memory MiB",
                "partition_size" => "partition size",
                "image_px" => unit,
                "batch_size" => "batch",
                "sampling_rate" => "sampling rate",
                "secs" => "time",
                name => name,
            });
            let rows: Vec<_> = planned.iter().map(|planned| planned.cells(&prices.currency)).collect();
            let columns: Vec<_> = columns[..SHOWN].iter().map(|name| (*name, Align::Right)).collect();
            let optional = ["batch", unit, "memory MiB", "partition size", "repetition", "images"];
            wrapped(&format!("{}\n{}", sum(&planned, prices), narrowing_table(&columns, &optional, &rows)))
        }
        Format::Csv => {
            let total = CoreSplit::total_column(planned.iter().map(Planned::split));
            let columns: Vec<&str> = NAMES.into_iter().chain(total).collect();
            let row = |planned: &Planned| {
                planned.numbers().into_iter().chain(total.map(|_| planned.split().total_cell())).collect()
            };
            csv(&columns.join(","), planned.iter().map(row))
        }
        Format::Json => planned.iter().map(Planned::json).collect(),
    }
}

impl<'a> Planned<'a> {
    fn of(run: &'a Run, forecast: &Forecast, prices: &PriceSheet) -> Self {
        Self {
            run,
            images: images_in_sample(run.workload.images, run.sampling_rate),
            secs: forecast.wall_secs(run),
            cost: forecast.completion_secs(run).and_then(|secs| cost(prices, run, secs)),
        }
    }

    fn split(&self) -> CoreSplit {
        self.run.configuration.split()
    }

    fn numbers(&self) -> Vec<String> {
        let Run { workload, configuration, sampling_rate, repetition } = self.run;
        let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        vec![
            configuration.executors.to_string(),
            configuration.cores_per_executor.to_string(),
            configuration.memory_per_executor_mib.to_string(),
            configuration.partition_size.to_string(),
            workload.image_px.to_string(),
            workload.batch_size.to_string(),
            sampling_rate.to_string(),
            self.images.to_string(),
            repetition.to_string(),
            number(self.secs),
            number(self.cost),
            workload.text.as_ref().map_or_else(String::new, |text| text.words.to_string()),
        ]
    }

    fn cells(&self, currency: &str) -> Vec<String> {
        let mut cells = self.numbers();
        cells.truncate(SHOWN);
        cells[1] = self.split().cores();
        cells[4] = self.run.workload.input_size().0.to_string();
        cells[6] = format_rate(self.run.sampling_rate);
        cells[8] = (self.run.repetition + 1).to_string();
        cells[9] = self.secs.map_or_else(|| "unknown".into(), format_duration);
        cells[10] = self.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, currency));
        cells
    }

    fn json(&self) -> String {
        let line = serde_json::json!({
            "workload": self.run.workload,
            "configuration": self.run.configuration,
            "sampling_rate": self.run.sampling_rate,
            "images": self.images,
            "repetition": self.run.repetition,
            "secs": self.secs,
            "cost": self.cost,
        });
        format!("{line}\n")
    }
}

/// Returns the expected totals of the runs with a forecast.
fn sum(planned: &[Planned], prices: &PriceSheet) -> String {
    let secs: Vec<f64> = planned.iter().filter_map(|planned| planned.secs).collect();
    let costs: Vec<f64> = planned.iter().filter_map(|planned| planned.cost).collect();
    let unknown = planned.len() - secs.len();
    let mut text = format_count(planned.len(), "run");
    if !secs.is_empty() {
        let money = match costs.iter().sum::<f64>() {
            _ if costs.is_empty() => "money unknown: the prices do not cover the hardware".to_owned(),
            money => format!("{} ({}, {})", format_money(money, &prices.currency), prices.name, prices.date),
        };
        text.push_str(&format!(", about {} in all and {money}", format_duration(secs.iter().sum())));
    }
    if unknown > 0 {
        text.push_str(&format!(
            "; without a forecast: {unknown}. One finished run of this job is enough for a first one"
        ));
    }
    text.push_str(".\n");
    text
}
