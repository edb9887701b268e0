//! Two event logs of one application, before and after a change.

use std::path::Path;

use foreglow_shared::{CoreSplit, format_duration};
use foreglow_spark_log::{LongestStage, Run, Simulation, Used};
use serde::Serialize;

use super::SCHEMA;
use crate::output::Format;
use crate::table::{aligned, csv_of, table};

/// What two runs took and used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogComparison {
    schema: u32,
    before: ComparedRun,
    after: ComparedRun,
    /// Time of the first run on the executors of the second, by simulation of its tasks; `None` if
    /// it cannot run there.
    simulated_secs: Option<f64>,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Name of the log.
    log: String,
    /// Name of the application.
    name: Option<String>,
    #[serde(flatten)]
    used: Used,
    tasks: u64,
    /// Time of all tasks together, seconds.
    work_secs: f64,
    /// Time in which only the driver worked, seconds.
    driver_secs: f64,
}

impl ComparedRun {
    /// Describes the run of a log; `None` if the log does not name its executors.
    pub fn new(log: String, run: &Run<'_>, simulation: &Simulation) -> Option<Self> {
        Some(Self {
            log,
            name: run.application.name.clone(),
            used: run.used()?,
            tasks: simulation.tasks(),
            work_secs: simulation.work_secs(),
            driver_secs: simulation.driver_secs(),
        })
    }

    /// Returns the file's name and the application's.
    fn title(&self) -> String {
        let file =
            Path::new(&self.log).file_name().map_or(self.log.clone(), |name| name.to_string_lossy().into_owned());
        self.name.as_ref().map_or_else(|| file.clone(), |name| format!("{file}, {name}"))
    }

    fn split(&self) -> CoreSplit {
        CoreSplit::even(self.used.executors, self.used.cores_per_executor)
    }
}

impl LogComparison {
    /// Compares a run, whose simulation is given, with a later one.
    pub fn new(before: ComparedRun, simulation: &Simulation, after: ComparedRun) -> Self {
        let there = simulation.at(after.used.executors, after.used.cores_per_executor);
        // The ratio of simulated times has less error than a simulated time.
        let here = simulation.at(before.used.executors, before.used.cores_per_executor);
        let simulated_secs = here
            .zip(there)
            .filter(|(here, _)| here.completion_time_secs > 0.0)
            .map(|(here, there)| simulation.measured_secs() * there.completion_time_secs / here.completion_time_secs);
        Self { schema: SCHEMA, before, after, simulated_secs }
    }

    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn csv(&self) -> String {
        let columns = "log,completion_time_secs,executors,cores_per_executor,mean_executors,busy_share,tasks,work_secs,\
            driver_secs,memory_per_executor_mib,peak_heap_mib,spilled_mib,gc_share";
        csv_of(columns, [&self.before, &self.after])
    }

    fn table(&self) -> String {
        let runs = [&self.before, &self.after];
        let mut text = format!("before: {}\nafter:  {}\n\n", self.before.title(), self.after.title());
        let mut rows = vec![
            number("time", runs, |run| Some(run.used.completion_time_secs), format_duration),
            vec!["executors".into(), self.before.split().to_string(), self.after.split().to_string(), String::new()],
            number("executors on average", runs, |run| Some(run.used.mean_executors), |mean| format!("{mean:.1}")),
            share("cores busy", runs, |run| Some(run.used.busy_share)),
            number("tasks", runs, |run| Some(run.tasks as f64), |tasks| format!("{tasks}")),
            number("time of all tasks", runs, |run| Some(run.work_secs), format_duration),
            number("driver alone", runs, |run| Some(run.driver_secs), format_duration),
            number("memory", runs, |run| mib(run.used.memory_per_executor_mib), show_mib),
            number("peak heap", runs, |run| mib(run.used.peak_heap_mib), show_mib),
            number("spill", runs, |run| mib(run.used.spilled_mib), show_mib),
            share("garbage collection", runs, |run| run.used.gc_share),
            number("longest stage", runs, |run| longest(run).map(|stage| stage.secs), format_duration),
            number("its longest task", runs, |run| longest(run).map(|stage| stage.longest_task_secs), format_duration),
        ];
        rows.retain(|cells| cells[1..3].iter().any(|cell| !cell.is_empty()));
        text += &table(&aligned(["<", "before", "after", "change"]), rows);
        text + &self.sentence()
    }

    /// Says which part of the change the executors explain.
    fn sentence(&self) -> String {
        let Some(simulated) = self.simulated_secs else { return String::new() };
        let took = self.after.used.completion_time_secs;
        let (there, expected) = (self.after.split(), format_duration(simulated));
        let rest = change(simulated, took).map_or_else(String::new, |change| format!(" ({change})"));
        format!(
            "\nThe first run would take {expected} on {there}, by simulation of its tasks; the second took {}{rest}. What \
             the executors do not explain is other data, another program, or other load.\n",
            format_duration(took)
        )
    }
}

fn longest(run: &ComparedRun) -> Option<&LongestStage> {
    run.used.longest_stage.as_ref()
}

fn mib(mib: Option<u64>) -> Option<f64> {
    mib.map(|mib| mib as f64)
}

fn show_mib(mib: f64) -> String {
    format!("{mib} MiB")
}

/// Returns the row of a share, whose change is in percentage points.
fn share(name: &str, runs: [&ComparedRun; 2], value: impl Fn(&ComparedRun) -> Option<f64>) -> Vec<String> {
    let percent = runs.map(|run| value(run).map(|share| (share * 100.0).round()));
    let [before, after] = percent.map(|percent| percent.map_or_else(String::new, |percent| format!("{percent} %")));
    let change = match percent {
        [Some(before), Some(after)] if after > before => format!("+{} points", after - before),
        [Some(before), Some(after)] if after < before => format!("−{} points", before - after),
        _ => String::new(),
    };
    vec![name.into(), before, after, change]
}

/// Returns the row of a number: its name, both values, and the change; an unknown value is empty.
fn number(
    name: &str,
    runs: [&ComparedRun; 2],
    value: impl Fn(&ComparedRun) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> Vec<String> {
    let values = runs.map(value);
    let [before, after] = values.map(|value| value.map_or_else(String::new, &show));
    let change = values[0].zip(values[1]).and_then(|(before, after)| change(before, after));
    vec![name.into(), before, after, change.unwrap_or_default()]
}

/// Returns a change, such as `+12 %`; `None` from nothing or below half a percent.
fn change(before: f64, after: f64) -> Option<String> {
    let percent = (before > 0.0).then(|| (after / before - 1.0) * 100.0)?.round();
    (percent != 0.0).then(|| if percent > 0.0 { format!("+{percent} %") } else { format!("−{} %", -percent) })
}
