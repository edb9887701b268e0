//! Exports: the runs, all data as JSON, the commands of the measurements, and a printed report.

use std::time::Duration;

use foreglow_shared::{CoreSplit, View, collect_command};
use leptos::prelude::*;
use serde_json::json;

use crate::control::download;
use crate::data::left_out::Run;
use crate::data::run_table::{ListedRun, rows};
use crate::data::view::Tab;
use crate::plot::sheet::{Sheet, digits};
use crate::source::page_address;
use crate::state::Planner;
use crate::worker::plan::view::{ArmView, PlanView};

/// Delay until the first view is built.
const PAUSE: Duration = Duration::from_millis(600);

/// The export buttons.
#[component]
pub fn Export() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let out = move |name: &'static str, kind: &'static str, text: fn(Planner, &View) -> String| {
        move |_| {
            if let Some(view) = untrack(|| planner.view()) {
                download(name, kind, &untrack(|| text(planner, &view)));
            }
        }
    };
    view! {
        <section class="card export" aria-labelledby="export-title">
            <h2 id="export-title">"Export"</h2>
            <p class="buttons">
                <button type="button" data-testid="export-runs" on:click=out("foreglow-runs.csv", "text/csv", |_, view| runs_csv(view))>
                    "Runs as CSV"
                </button>
                <button type="button" data-testid="export-configurations" on:click=out("foreglow-configurations.csv", "text/csv", configurations_csv)>
                    "Configurations as CSV"
                </button>
                <button type="button" data-testid="export-json" on:click=out("foreglow.json", "application/json", everything)>
                    "Everything as JSON"
                </button>
                <button type="button" data-testid="export-commands" on:click=out("foreglow-collect.sh", "text/x-shellscript", |_, view| commands(view))>
                    "Commands to repeat the measurements"
                </button>
                <button type="button" data-testid="print" on:click=move |_| {
                    // The report is the first view, which takes a moment to build.
                    planner.show(Tab::Compare);
                    set_timeout(print, PAUSE);
                }>
                    "Print a report"
                </button>
            </p>
        </section>
    }
}

fn print() {
    // A browser that cannot print ignores it.
    let _ = window().print();
}

/// The runs as CSV, with the column names of the sample format and whether each run is excluded.
fn runs_csv(view: &View) -> String {
    let rows = rows(&view.job, &view.left_out);
    let total = CoreSplit::total_column(rows.iter().map(|row| row.features().0));
    let total = total.map(|name| format!("configuration.{name}"));
    let mut columns = vec![
        "configuration.executors",
        "configuration.cores_per_executor",
        "configuration.memory_per_executor_mib",
        "configuration.partition_size",
        "sampling_rate",
        "outcome",
        "completion_time_secs",
        "startup_secs",
        "left_out",
    ];
    columns.extend(total.as_deref());
    let fields = |row: &ListedRun| {
        let (split, memory, partition_size) = row.features();
        let (secs, startup) = times(row);
        let mut fields = vec![
            split.executors.to_string(),
            split.cores_per_executor.to_string(),
            memory.to_string(),
            partition_size.to_string(),
            row.sampling_rate().to_string(),
            row.outcome().to_string(),
            digits(secs),
            digits(startup),
            row.left_out.to_string(),
        ];
        fields.extend(total.is_some().then(|| split.total_cell()));
        fields
    };
    Sheet::new(&columns, rows.iter().map(fields)).to_csv()
}

/// The completion time of a run, or the lower bound if it was stopped; and its start-up time.
fn times(row: &ListedRun) -> (Option<f64>, Option<f64>) {
    match row.run {
        Run::Completed(run) => (Some(run.completion_time_secs), run.startup_secs),
        Run::Incomplete(run) => (run.at_least_secs, None),
    }
}

fn configurations_csv(planner: Planner, _: &View) -> String {
    let columns = [
        "machine",
        "executors",
        "cores_per_executor",
        "memory_per_executor_mib",
        "batch_size",
        "partition_size",
        "completion_time_secs",
        "lower_secs",
        "upper_secs",
        "cost",
        "currency",
        "success_probability",
        "feasible",
        "recommended",
        "pareto",
    ];
    let plan = planner.answer.planned();
    let fields = |plan: &PlanView, place: usize| {
        let row = &plan.rows[place];
        let arm = plan.arms.get(row.arm);
        let size = |of: fn(&ArmView) -> u32| arm.map(|arm| of(arm).to_string()).unwrap_or_default();
        vec![
            arm.map(|arm| arm.machine.clone()).unwrap_or_default(),
            row.counts.executors.to_string(),
            row.counts.cores_per_executor.to_string(),
            row.memory_per_executor_mib.to_string(),
            size(|arm| arm.batch_size),
            size(|arm| arm.partition_size),
            digits(row.secs),
            digits(row.interval.map(|interval| interval.lower_secs)),
            digits(row.interval.map(|interval| interval.upper_secs)),
            digits(row.cost),
            plan.currency.clone(),
            digits(row.success_probability),
            row.is_feasible.to_string(),
            (plan.recommended == Some(place)).to_string(),
            plan.front.contains(&place).to_string(),
        ]
    };
    let all = plan.iter().flat_map(|plan| (0..plan.rows.len()).map(|place| fields(plan, place)));
    Sheet::new(&columns, all).to_csv()
}

/// The view in the format of the link, the recommended configuration, and the link itself.
fn everything(planner: Planner, view: &View) -> String {
    let plan = planner.answer.planned();
    let recommended = plan.as_ref().and_then(|plan| {
        let row = plan.row(plan.recommended)?;
        Some(json!({
            "machine": plan.arms.get(row.arm).map(|arm| &arm.machine),
            "executors": row.counts.executors,
            "cores_per_executor": row.counts.cores_per_executor,
            "completion_time_secs": row.secs,
            "interval": row.interval,
            "cost": row.cost,
            "success_probability": row.success_probability,
            "warnings": plan.warnings,
        }))
    });
    let answer =
        json!({ "schema": 1, "link": view.to_link(&page_address()), "view": view, "recommended": recommended });
    format!("{answer:#}\n")
}

/// A shell script with one `foreglow collect` per measured configuration and sampling rate.
fn commands(view: &View) -> String {
    let mut commands: Vec<String> = Vec::new();
    for row in rows(&view.job, &view.left_out) {
        let (split, memory_mib, partition_size) = row.features();
        let context = &view.job.context;
        let configuration = context.configuration(split, memory_mib, partition_size);
        let output = Some(("--output", "samples.jsonl"));
        let command = collect_command(context, &configuration, row.sampling_rate(), output);
        commands.extend(command.filter(|command| !commands.contains(command)));
    }
    let what = match commands.as_slice() {
        [] => "foreglow cannot measure runs of this kind: repeat them with the program that measured them",
        _ => "Measures each of these settings again, once, into samples.jsonl",
    };
    format!("#!/bin/sh\n# {what}.\n{}\n", commands.join("\n"))
}
