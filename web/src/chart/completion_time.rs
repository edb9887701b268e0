//! Completion time by executors and cores: predicted lines, the runs on them, the deadline and the what-if.

use std::sync::Arc;

use foreglow_shared::{Observation, WhatIf, format_duration, format_money, format_rate};
use leptos::html::Div;
use leptos::prelude::*;
use web_sys::PointerEvent;

use crate::chart::axes::{Frame, path, shade, width_of, x_axis, y_axis};
use crate::chart::drawing::Drawing;
use crate::chart::lines::{Line, Measured, ends_secs};
use crate::chart::scale::{Spread, log_tick_time, tick_time};
use crate::panel::counted;
use crate::state::Planner;

const HEIGHT_PX: f64 = 380.0;
const TIME_TICKS: usize = 6;

/// The chart.
#[component]
pub fn CompletionTimeChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = NodeRef::<Div>::new();
    let width = width_of(place);
    let spread = RwSignal::new(Spread::Linear);
    let hovered = RwSignal::new(None::<WhatIf>);
    let drawing = Memo::new(move |_| {
        Drawing::of(planner, Frame { width: width.get().max(240.0), height: HEIGHT_PX }, spread.get())
    });
    let at = move |event: &PointerEvent| {
        let rect = place.get_untracked()?.get_bounding_client_rect();
        let point = (f64::from(event.client_x()) - rect.left(), f64::from(event.client_y()) - rect.top());
        drawing.with_untracked(|drawing| drawing.as_ref().and_then(|drawing| drawing.nearest(point)))
    };
    let hover = move |event: PointerEvent| {
        let near = at(&event);
        if near != hovered.get_untracked() {
            hovered.set(near);
        }
    };
    let take = move |event: PointerEvent| {
        if let Some(configuration) = at(&event) {
            planner.what_if.set(configuration);
        }
    };
    let choice = move |label: &'static str, kind: Spread| {
        view! {
            <button type="button" aria-pressed=move || (spread.get() == kind).to_string() on:click=move |_| spread.set(kind)>
                {label}
            </button>
        }
    };
    view! {
        <section class="card chart" aria-labelledby="chart-title">
            <div class="chart-head">
                <h2 id="chart-title">"Completion time of the whole job"</h2>
                <div class="switch" role="group" aria-label="Time axis">
                    {choice("Linear", Spread::Linear)}
                    {choice("Log", Spread::Log)}
                </div>
            </div>
            <p class="readout">{move || readout(planner, hovered.get())}</p>
            <div class="drawing tall" node_ref=place data-testid="chart">
                {move || drawing.get().map(|drawing| {
                    let Frame { width, height } = drawing.frame;
                    let description = describe(&drawing);
                    view! {
                        <svg
                            role="img"
                            aria-label=description
                            width=width
                            height=height
                            on:pointermove=hover
                            on:pointerleave=move |_| hovered.set(None)
                            on:pointerup=take
                        >
                            {picture(planner, drawing, hovered)}
                        </svg>
                    }
                })}
            </div>
            {move || drawing.with(|drawing| drawing.as_ref().map(legend))}
        </section>
    }
}

fn picture(planner: Planner, drawing: Drawing, hovered: RwSignal<Option<WhatIf>>) -> impl IntoView {
    let Drawing { frame, x, y, .. } = drawing;
    let label = |secs: f64| match y.spread() {
        Spread::Linear => tick_time(secs, y.upper()),
        Spread::Log => log_tick_time(secs),
    };
    let times = y.time_ticks(TIME_TICKS).into_iter().map(|secs| (secs, label(secs))).collect();
    let counts = x.whole_ticks(frame.labels_across()).into_iter().map(|count| (count, count.to_string())).collect();
    let lines: Vec<_> = drawing.lines.iter().map(|line| predicted(&drawing, line)).collect();
    let runs: Vec<_> = drawing.runs.iter().map(|run| measured_point(&drawing, run)).collect();
    let (left, right) = frame.across();
    let deadline = drawing.deadline_secs.map(|secs| {
        let y = drawing.y.px(secs);
        view! {
            <g class="deadline">
                <line x1=left x2=right y1=y y2=y />
                <text x=right y=y - 6.0 text-anchor="end">
                    {format!("deadline {}", format_duration(secs))}
                </text>
            </g>
        }
    });
    // These follow the slider and the pointer; what stays is drawn once.
    let drawing = Arc::new(drawing);
    let band = {
        let drawing = Arc::clone(&drawing);
        move || {
            let WhatIf { cores_per_executor, .. } = planner.what_if.get();
            drawing.line_of(cores_per_executor).map(|line| view! { <path class="band" d=band(&drawing, line) /> })
        }
    };
    let mark = {
        let drawing = Arc::clone(&drawing);
        move || mark(&drawing, planner.what_if.get())
    };
    let ring = move || {
        let (x, y) = drawing.place_of(hovered.get()?)?;
        Some(view! { <circle class="ring" cx=x cy=y r=9.0 /> })
    };
    view! {
        {y_axis(frame, &y, times)}
        {x_axis(frame, &x, counts, "executors")}
        {band}
        {lines}
        {deadline}
        {runs}
        {mark}
        {ring}
    }
}

fn predicted(drawing: &Drawing, line: &Line) -> impl IntoView + use<> {
    let class = format!("line {}", shade(&drawing.cores, line.cores_per_executor));
    let points: Vec<(f64, f64)> = line.points.iter().map(|point| drawing.px(point.executors, point.secs)).collect();
    // A dot at each whole number says that there is nothing between them; of many they would be a thick line.
    let dots = (points.len() <= 24)
        .then(|| points.iter().map(|&(x, y)| view! { <circle class="dot" cx=x cy=y r=2.2 /> }).collect_view());
    view! {
        <g class=class>
            <path d=path(points.iter().copied()) />
            {dots}
        </g>
    }
}

/// The intervals of a line as an area.
fn band(drawing: &Drawing, line: &Line) -> String {
    let (foot, top) = drawing.frame.up();
    let end = |secs: f64| drawing.y.px(secs).clamp(top, foot);
    let ends: Vec<(f64, f64, f64)> = line
        .points
        .iter()
        .filter_map(|point| {
            let (lower, upper) = point.interval_secs?;
            // Zero has no place on a log axis; it lies below every other number.
            let lower_px = if lower > 0.0 { end(lower) } else { foot };
            Some((drawing.x.px(f64::from(point.executors)), lower_px, end(upper)))
        })
        .collect();
    let there = ends.iter().map(|&(x, _, upper)| (x, upper));
    let back = ends.iter().rev().map(|&(x, lower, _)| (x, lower));
    let text = path(there.chain(back));
    if text.is_empty() { text } else { format!("{text}Z") }
}

fn measured_point(drawing: &Drawing, measured: &Measured) -> impl IntoView + use<> {
    let Measured { run, whole_job_secs } = measured;
    let (x, y) = drawing.px(run.executors, *whole_job_secs);
    let kind = if run.sampling_rate == 1.0 { "whole" } else { "share" };
    let class = format!("run {kind} {}", shade(&drawing.cores, run.cores_per_executor));
    view! {
        <circle
            class=class
            cx=x
            cy=y
            r=4.5
            data-testid="measured-point"
            data-executors=run.executors.to_string()
            data-cores=run.cores_per_executor.to_string()
            data-sampling-rate=run.sampling_rate.to_string()
            data-secs=run.completion_time_secs.to_string()
        />
    }
}

/// The what-if, with its interval.
fn mark(drawing: &Drawing, what_if: WhatIf) -> Option<impl IntoView + use<>> {
    let point = drawing.point_of(what_if)?;
    let (x, y) = drawing.px(point.executors, point.secs);
    let (foot, top) = drawing.frame.up();
    let whisker = point.interval_secs.map(|(lower, upper)| {
        let lower_px = if lower > 0.0 { drawing.y.px(lower).clamp(top, foot) } else { foot };
        let upper_px = drawing.y.px(upper).clamp(top, foot);
        view! { <line x1=x x2=x y1=lower_px y2=upper_px /> }
    });
    Some(view! {
        <g class="looked-at-mark">
            {whisker}
            <circle cx=x cy=y r=7.0 />
        </g>
    })
}

/// What stands at the pointer; without one, at the what-if.
fn readout(planner: Planner, hovered: Option<WhatIf>) -> Option<String> {
    let configuration = hovered.unwrap_or_else(|| planner.what_if.get());
    let prediction = planner.predict(configuration)?;
    let WhatIf { executors, cores_per_executor } = configuration;
    let mut text = format!("{} × {}: ", counted(executors, "executor"), counted(cores_per_executor, "core"));
    match prediction.completion_time_secs {
        Some(secs) => {
            text.push_str(&format_duration(secs));
            if let Some((lower, upper)) = prediction.interval.as_ref().map(ends_secs) {
                text.push_str(&format!(" ({} – {})", format_duration(lower), format_duration(upper)));
            }
            let currency = planner.prices.with(|prices| prices.currency.clone());
            text.push_str(&format!(", {}", format_money(planner.cost(configuration, secs), &currency)));
        }
        None => text.push_str("unknown"),
    }
    let runs: Vec<String> = planner
        .observations()
        .iter()
        .filter(|run| (run.executors, run.cores_per_executor) == (executors, cores_per_executor))
        .map(in_words)
        .collect();
    if runs.len() > 4 {
        text.push_str(&format!("; {} runs", runs.len()));
    } else if !runs.is_empty() {
        text.push_str(&format!("; measured {}", runs.join(", ")));
    }
    Some(text)
}

fn in_words(run: &Observation) -> String {
    format!("{} on {}", format_duration(run.completion_time_secs), format_rate(run.sampling_rate))
}

/// The picture in a sentence; the table below has every number of it.
fn describe(drawing: &Drawing) -> String {
    let cores: Vec<String> = drawing.cores.iter().map(ToString::to_string).collect();
    format!(
        "Predicted completion time by number of executors, one line for each number of cores ({}), with {} measured runs. The \
         table of every configuration has the numbers.",
        cores.join(", "),
        drawing.runs.len()
    )
}

fn legend(drawing: &Drawing) -> impl IntoView + use<> {
    let cores = drawing.cores.iter().map(|count| {
        let class = format!("key line {}", shade(&drawing.cores, *count));
        view! { <li class=class>{counted(*count, "core")}</li> }
    });
    let any = |whole: bool| drawing.runs.iter().any(|run| (run.run.sampling_rate == 1.0) == whole);
    view! {
        <ul class="legend">
            {cores.collect_view()}
            {any(true).then(|| view! { <li class="key whole">"run on all images"</li> })}
            {any(false).then(|| {
                view! { <li class="key share">"run on a share of them, scaled up by the predictor: its distance from the line is the miss"</li> }
            })}
            <li class="key looked-at">"what if, with its interval"</li>
        </ul>
    }
}
