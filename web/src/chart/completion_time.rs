//! Completion time by executors and cores: predicted lines, measured runs, the deadline and the
//! what-if.

use std::sync::Arc;

use foreglow_shared::{Observation, WhatIf, distinct, format_duration};
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Frame, legend_of, path, shade, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{log_switch, spread};
use crate::data::job::highest;
use crate::data::switch::Switch;
use crate::plot::counts::{counts_of, lines_for};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;
use crate::worker::plan::view::{ChartView, LinePoint, RunView};

const HEIGHT_PX: f64 = 360.0;
const TIME_TICKS: usize = 6;
/// End of the y axis as a multiple of the highest point.
const HEADROOM: f64 = 1.06;
/// Height of a label below the line of the deadline, pixels.
const ROOM_PX: f64 = 18.0;
/// A deadline beyond this multiple of the longest time is not drawn, because it would flatten the
/// lines.
const FARTHEST_DEADLINE: f64 = 1.5;
/// Limit on the points of a line that are drawn as dots.
const MOST_DOTS: usize = 24;

/// The laid-out chart.
#[derive(Clone, Debug, PartialEq)]
struct CompletionTimes {
    times: Arc<Times>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// Predicted completion times of the whole job for one number of cores.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    cores_per_executor: u32,
    /// Executors and seconds, ascending; unknown times are omitted.
    points: Vec<(u32, f64)>,
}

/// A run with the whole-job time that it implies.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    run: Observation,
    whole_job_secs: f64,
}

/// The predictions and runs, which are independent of the question.
#[derive(Debug, PartialEq)]
struct Times {
    executors: Vec<u32>,
    lines: Vec<Line>,
    cores: Vec<u32>,
    runs: Vec<Measured>,
}

/// Chart of the completion time by executors.
#[component]
pub fn CompletionTimeChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let (x, y) = (spread(Switch::CompletionExecutors), spread(Switch::CompletionTime));
    let times = Memo::new(move |_| Some(Arc::new(Times::of(&*planner.answer.charts.get()?))));
    let drawing = drawn(move || {
        let deadline = planner.deadline_secs.get();
        Some(CompletionTimes::of(times.get()?, deadline, place.frame()?, (x.get(), y.get())))
    });
    let frame = Card {
        id: "chart",
        title: "Completion time of the whole job",
        says: Signal::derive(|| {
            "By executors, one line for each number of cores. Runs on a share of the images are scaled up by the predictor: \
             their distance from the line is the error."
                .into()
        }),
        switches: view! { {log_switch("executors", x)} {log_switch("time", y)} }.into_any(),
    };
    card(frame, place, drawing)
}

impl Times {
    fn of(ChartView { grid, runs, .. }: &ChartView) -> Self {
        let observations: Vec<Observation> = runs.iter().map(|run| run.run).collect();
        let cores = lines_for(&grid.cores, &counts_of(&observations, |run| run.cores_per_executor));
        let line = |cores: &u32| Line { cores_per_executor: *cores, points: grid.by_executors(*cores) };
        let measured = |RunView { run, whole_job_secs, .. }: &RunView| {
            Some(Measured { run: *run, whole_job_secs: (*whole_job_secs)? })
        };
        Self {
            executors: grid.executors.clone(),
            lines: cores.iter().map(line).collect(),
            runs: runs.iter().filter_map(measured).collect(),
            cores,
        }
    }
}

impl CompletionTimes {
    fn of(times: Arc<Times>, deadline_secs: Option<f64>, frame: Frame, (across, up): (Spread, Spread)) -> Self {
        let Times { executors, lines, runs, .. } = &*times;
        let secs = || {
            let predicted = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
            predicted.chain(runs.iter().map(|run| run.whole_job_secs))
        };
        let (shortest, longest) =
            secs().fold((f64::INFINITY, 0.0), |(low, high), secs| (secs.min(low), secs.max(high)));
        let deadline_secs = deadline_secs.filter(|secs| *secs <= longest * FARTHEST_DEADLINE);
        let top = deadline_secs.unwrap_or(0.0).max(longest) * HEADROOM;
        let foot = match up {
            Spread::Linear => 0.0,
            Spread::Log => deadline_secs.unwrap_or(shortest).min(shortest) / HEADROOM,
        };
        let most = highest(executors).max(runs.iter().map(|run| run.run.executors).max().unwrap_or(1));
        let (left, right) = frame.across();
        let x = Scale::new(across, (1.0, f64::from(most)), (left + 14.0, right - 14.0));
        let y = Scale::new(up, (foot, top), frame.up());
        Self { times, frame, x, y }
    }

    fn px(&self, executors: u32, secs: f64) -> (f64, f64) {
        (self.x.px(f64::from(executors)), self.y.px(secs))
    }

    /// The area between the interval ends of a line, as a path.
    fn band(&self, line: &[LinePoint]) -> String {
        let (foot, top) = self.frame.up();
        let end = |secs: f64| self.y.px(secs).clamp(top, foot);
        let ends: Vec<(f64, f64, f64)> = line
            .iter()
            .filter_map(|point| {
                let (lower, upper) = point.interval_secs?;
                // Zero has no position on a logarithmic axis, and is drawn at its lower end.
                let lower_px = if lower > 0.0 { end(lower) } else { foot };
                Some((self.x.px(f64::from(point.executors)), lower_px, end(upper)))
            })
            .collect();
        let there = ends.iter().map(|&(x, _, upper)| (x, upper));
        let back = ends.iter().rev().map(|&(x, lower, _)| (x, lower));
        let text = path(there.chain(back));
        if text.is_empty() { text } else { format!("{text}Z") }
    }
}

impl Drawing for CompletionTimes {
    fn picture(&self) -> Markup {
        let Times { lines, cores, runs, .. } = &*self.times;
        let mut picture = y_axis(self.frame, &self.y, self.y.labelled_times(TIME_TICKS));
        picture.add(&y_name("completion time"));
        let counts = self.x.count_ticks(self.frame.labels_across());
        picture.add(&x_axis(self.frame, &self.x, counts, "executors"));
        for line in lines {
            let points: Vec<(f64, f64)> =
                line.points.iter().map(|(executors, secs)| self.px(*executors, *secs)).collect();
            let mut drawn = Markup::new();
            drawn.path("", &path(points.iter().copied()));
            // Dots show that only whole numbers are possible. Many dots would merge into a thick
            // line.
            for point in points.iter().filter(|_| points.len() <= MOST_DOTS) {
                drawn.circle("dot", *point, 2.2);
            }
            picture.group("g", &format!("line {}", shade(cores, line.cores_per_executor)), &drawn);
        }
        let counts = distinct(runs.iter().map(|run| run.run.cores_per_executor));
        // Runs over all images are drawn on top.
        for (kind, is_whole) in [("share", false), ("whole", true)] {
            let of_kind = || runs.iter().filter(|run| (run.run.sampling_rate == 1.0) == is_whole);
            for count in counts.iter().copied() {
                let own = of_kind().filter(|run| run.run.cores_per_executor == count);
                let places = own.map(|run| self.px(run.run.executors, run.whole_job_secs));
                picture.circles(&format!("run {kind} {}", shade(cores, count)), places.collect(), 4.5);
            }
        }
        picture
    }

    fn limits(&self, planner: Planner) -> Option<Markup> {
        let secs = planner.deadline_secs.get().filter(|secs| self.y.holds(*secs))?;
        let (left, right) = self.frame.across();
        let y = self.y.px(secs);
        let mut limit = Markup::new();
        limit.line((left, y), (right, y));
        // Times fall with the executors: there are no lines below a short deadline on the left, nor
        // above a long one on the right.
        let (foot, top) = self.frame.up();
        let is_short = y > (foot + top) / 2.0 && foot - y >= ROOM_PX;
        let (at, anchor) = if is_short { ((left + 6.0, y + 14.0), "start") } else { ((right, y - 6.0), "end") };
        limit.label(at, anchor, &format!("deadline {}", format_duration(secs)));
        let mut limits = Markup::new();
        limits.group("g", "deadline", &limit);
        Some(limits)
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let view = planner.answer.what_if.get()?;
        let executors = view.selection.counts.executors;
        let mut moving = Markup::new();
        moving.path("band", &self.band(&view.band));
        moving.path("own-line", &path(view.by_executors.iter().map(|(executors, secs)| self.px(*executors, *secs))));
        for point in view.band.iter().filter(|point| point.executors == executors) {
            moving.add(&mark(self, point));
        }
        Some(moving)
    }

    fn marks(&self) -> Vec<Mark> {
        let marks = self.times.lines.iter().flat_map(|line| {
            line.points.iter().map(move |&(executors, secs)| {
                let configuration = WhatIf { executors, cores_per_executor: line.cores_per_executor };
                Mark { at: self.px(executors, secs), about: About::Configuration(configuration) }
            })
        });
        marks.collect()
    }

    fn sheet(&self) -> Sheet {
        let predicted = self.times.lines.iter().flat_map(|line| {
            let row = move |&(executors, secs): &(u32, f64)| {
                let (executors, cores) = (executors.to_string(), line.cores_per_executor.to_string());
                vec!["predicted".into(), executors, cores, "1".into(), digits(Some(secs)), digits(Some(secs))]
            };
            line.points.iter().map(row)
        });
        let measured = self.times.runs.iter().map(|Measured { run, whole_job_secs }| {
            let secs = digits(Some(run.completion_time_secs));
            let (executors, cores) = (run.executors.to_string(), run.split().cores());
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
        let cores: Vec<String> = self.times.cores.iter().map(ToString::to_string).collect();
        format!(
            "Predicted completion time by number of executors, one line for each number of cores ({}), with {} measured runs.",
            cores.join(", "),
            self.times.runs.len()
        )
    }

    fn legend(&self) -> Markup {
        let any = |whole: bool| self.times.runs.iter().any(|run| (run.run.sampling_rate == 1.0) == whole);
        let mut others = Vec::new();
        others.extend(any(true).then_some(("whole", "run on all images")));
        others.extend(any(false).then_some(("share", "run on a share of them")));
        others.push(("looked-at", "what if, with its interval"));
        legend_of(&self.times.cores, "core", &others)
    }
}

/// Draws the what-if with its interval.
fn mark(drawing: &CompletionTimes, point: &LinePoint) -> Markup {
    let (x, y) = drawing.px(point.executors, point.secs);
    let (foot, top) = drawing.frame.up();
    let mut inner = Markup::new();
    if let Some((lower, upper)) = point.interval_secs {
        let lower_px = if lower > 0.0 { drawing.y.px(lower).clamp(top, foot) } else { foot };
        inner.line((x, lower_px), (x, drawing.y.px(upper).clamp(top, foot)));
    }
    inner.circle("", (x, y), 7.0);
    let mut mark = Markup::new();
    mark.group("g", "looked-at-mark", &inner);
    mark
}
