//! Completion time by executors and cores: predicted lines, the runs on them, the deadline and the what-if.

use std::sync::Arc;

use foreglow_shared::{WhatIf, format_duration};
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Frame, path, shade, x_axis, y_axis};
use crate::chart::card::{Card, Drawing, Place, card, drawn, log_switch};
use crate::chart::grid::{Grid, thinned};
use crate::chart::lines::{Line, LinePoint, Measured, line, lines, lines_for, measured};
use crate::chart::overview::Overview;
use crate::chart::scale::{Scale, Spread};
use crate::chart::sheet::{Sheet, digits};
use crate::job::highest;
use crate::panel::counted;
use crate::state::Planner;

const HEIGHT_PX: f64 = 360.0;
const TIME_TICKS: usize = 6;
/// Intervals along the line of the what-if.
const BAND: usize = 12;
/// Room above the highest point, as a share.
const HEADROOM: f64 = 1.06;
/// A deadline far above every time would flatten the lines; beyond this multiple it is told, not drawn.
const FARTHEST_DEADLINE: f64 = 1.5;

/// Everything that has a place in the drawing.
#[derive(Clone, Debug, PartialEq)]
struct CompletionTimes {
    grid: Arc<Grid>,
    lines: Vec<Line>,
    cores: Vec<u32>,
    runs: Vec<Measured>,
    deadline_secs: Option<f64>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// The chart.
#[component]
pub fn CompletionTimeChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let overview = expect_context::<Overview>();
    let place = Place::new(HEIGHT_PX);
    let (x, y) = (RwSignal::new(Spread::Linear), RwSignal::new(Spread::Linear));
    let drawing = drawn(move || CompletionTimes::of(planner, overview.grid.get()?, place.frame(), (x.get(), y.get())));
    let frame = Card {
        id: "chart",
        title: "Completion time of the whole job",
        says: Signal::derive(|| {
            "By executors, one line for each number of cores. Runs on a share of the images are scaled up by the predictor: \
             their distance from the line is the miss."
                .into()
        }),
        switches: view! { {log_switch("executors", x)} {log_switch("time", y)} }.into_any(),
    };
    card(frame, place, drawing)
}

impl CompletionTimes {
    /// `None` while there is no predictor.
    fn of(planner: Planner, grid: Arc<Grid>, frame: Frame, (across, up): (Spread, Spread)) -> Option<Self> {
        let fitted = planner.fitted()?;
        let cores = lines_for(&grid.cores);
        let lines = lines(&fitted.predictor, &grid.executors, &cores);
        let runs = measured(&fitted.predictor, &planner.observations());
        let times = || {
            let predicted = lines.iter().flat_map(|line| line.points.iter().map(|point| point.secs));
            predicted.chain(runs.iter().map(|run| run.whole_job_secs))
        };
        let (shortest, longest) =
            times().fold((f64::INFINITY, 0.0), |(low, high), secs| (secs.min(low), secs.max(high)));
        let deadline_secs = planner.deadline_secs.get().filter(|secs| *secs <= longest * FARTHEST_DEADLINE);
        let top = deadline_secs.unwrap_or(0.0).max(longest) * HEADROOM;
        let foot = match up {
            Spread::Linear => 0.0,
            Spread::Log => deadline_secs.unwrap_or(shortest).min(shortest) / HEADROOM,
        };
        let most = highest(&grid.executors).max(runs.iter().map(|run| run.run.executors).max().unwrap_or(1));
        let (left, right) = frame.across();
        Some(Self {
            x: Scale::new(across, (1.0, f64::from(most)), (left + 14.0, right - 14.0)),
            y: Scale::new(up, (foot, top), frame.up()),
            grid,
            lines,
            cores,
            runs,
            deadline_secs,
            frame,
        })
    }

    fn px(&self, executors: u32, secs: f64) -> (f64, f64) {
        (self.x.px(f64::from(executors)), self.y.px(secs))
    }

    /// The intervals of a line as an area.
    fn band(&self, line: &Line) -> String {
        let (foot, top) = self.frame.up();
        let end = |secs: f64| self.y.px(secs).clamp(top, foot);
        let ends: Vec<(f64, f64, f64)> = line
            .points
            .iter()
            .filter_map(|point| {
                let (lower, upper) = point.interval_secs?;
                // Zero has no place on a log axis; it lies below every other number.
                let lower_px = if lower > 0.0 { end(lower) } else { foot };
                Some((self.x.px(f64::from(point.executors)), lower_px, end(upper)))
            })
            .collect();
        let there = ends.iter().map(|&(x, _, upper)| (x, upper));
        let back = ends.iter().rev().map(|&(x, lower, _)| (x, lower));
        let text = path(there.chain(back));
        if text.is_empty() { text } else { format!("{text}Z") }
    }

    fn deadline(&self) -> Option<impl IntoView + use<>> {
        let (left, right) = self.frame.across();
        let secs = self.deadline_secs?;
        let y = self.y.px(secs);
        Some(view! {
            <g class="deadline">
                <line x1=left x2=right y1=y y2=y />
                <text x=right y=y - 6.0 text-anchor="end">
                    {format!("deadline {}", format_duration(secs))}
                </text>
            </g>
        })
    }
}

impl Drawing for CompletionTimes {
    fn picture(&self) -> AnyView {
        let times = self.y.labelled_times(TIME_TICKS);
        let counts = self.x.count_ticks(self.frame.labels_across());
        let lines: Vec<_> = self.lines.iter().map(|line| predicted(self, line)).collect();
        let runs: Vec<_> = self.runs.iter().map(|run| measured_point(self, run)).collect();
        view! {
            {y_axis(self.frame, &self.y, times)}
            {x_axis(self.frame, &self.x, counts, "executors")}
            {lines}
            {self.deadline()}
            {runs}
        }
        .into_any()
    }

    fn moving(&self, planner: Planner) -> Option<AnyView> {
        let fitted = planner.fitted()?;
        let WhatIf { executors, cores_per_executor } = planner.what_if.get();
        let mut counts = self.grid.executors.clone();
        if let Err(place) = counts.binary_search(&executors) {
            counts.insert(place, executors);
        }
        let own = lines(&fitted.predictor, &counts, &[cores_per_executor]).pop()?;
        // An interval takes longer than a time: a dozen of them are a smooth band.
        let mut some = thinned(&counts, BAND);
        if let Err(place) = some.binary_search(&executors) {
            some.insert(place, executors);
        }
        let intervals = line(&fitted.predictor, &some, cores_per_executor);
        let points = path(own.points.iter().map(|point| self.px(point.executors, point.secs)));
        let looked_at =
            intervals.points.iter().find(|point| point.executors == executors).map(|point| mark(self, point));
        Some(
            view! {
                <path class="band" d=self.band(&intervals) />
                <path class="own-line" d=points />
                {looked_at}
            }
            .into_any(),
        )
    }

    fn marks(&self) -> Vec<Mark> {
        let marks = self.lines.iter().flat_map(|line| {
            line.points.iter().map(move |point| {
                let configuration = WhatIf { executors: point.executors, cores_per_executor: line.cores_per_executor };
                Mark { at: self.px(point.executors, point.secs), about: About::Configuration(configuration) }
            })
        });
        marks.collect()
    }

    fn sheet(&self) -> Sheet {
        let predicted = self.lines.iter().flat_map(|line| {
            let row = move |point: &LinePoint| {
                let (executors, cores) = (point.executors.to_string(), line.cores_per_executor.to_string());
                vec![
                    "predicted".into(),
                    executors,
                    cores,
                    "1".into(),
                    digits(Some(point.secs)),
                    digits(Some(point.secs)),
                ]
            };
            line.points.iter().map(row)
        });
        let measured = self.runs.iter().map(|Measured { run, whole_job_secs }| {
            let secs = digits(Some(run.completion_time_secs));
            let (executors, cores) = (run.executors.to_string(), run.cores_per_executor.to_string());
            vec![
                "measured".into(),
                executors,
                cores,
                run.sampling_rate.to_string(),
                secs,
                digits(Some(*whole_job_secs)),
            ]
        });
        let columns =
            ["kind", "executors", "cores_per_executor", "sampling_rate", "completion_time_secs", "whole_job_secs"];
        Sheet::new(&columns, predicted.chain(measured))
    }

    fn describe(&self) -> String {
        let cores: Vec<String> = self.cores.iter().map(ToString::to_string).collect();
        format!(
            "Predicted completion time by number of executors, one line for each number of cores ({}), with {} measured runs.",
            cores.join(", "),
            self.runs.len()
        )
    }

    fn legend(&self) -> Option<AnyView> {
        let cores = self.cores.iter().map(|count| {
            let class = format!("key line {}", shade(&self.cores, *count));
            view! { <li class=class>{counted(*count, "core")}</li> }
        });
        let any = |whole: bool| self.runs.iter().any(|run| (run.run.sampling_rate == 1.0) == whole);
        let keys = view! {
            <ul class="legend">
                {cores.collect_view()}
                {any(true).then(|| view! { <li class="key whole">"run on all images"</li> })}
                {any(false).then(|| view! { <li class="key share">"run on a share of them"</li> })}
                <li class="key looked-at">"what if, with its interval"</li>
            </ul>
        };
        Some(keys.into_any())
    }
}

fn predicted(drawing: &CompletionTimes, line: &Line) -> impl IntoView + use<> {
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

fn measured_point(drawing: &CompletionTimes, measured: &Measured) -> impl IntoView + use<> {
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
fn mark(drawing: &CompletionTimes, point: &LinePoint) -> impl IntoView + use<> {
    let (x, y) = drawing.px(point.executors, point.secs);
    let (foot, top) = drawing.frame.up();
    let whisker = point.interval_secs.map(|(lower, upper)| {
        let lower_px = if lower > 0.0 { drawing.y.px(lower).clamp(top, foot) } else { foot };
        let upper_px = drawing.y.px(upper).clamp(top, foot);
        view! { <line x1=x x2=x y1=lower_px y2=upper_px /> }
    });
    view! {
        <g class="looked-at-mark">
            {whisker}
            <circle cx=x cy=y r=7.0 />
        </g>
    }
}
