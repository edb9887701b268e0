//! Measured time by sampling rate, up to the whole job.

use foreglow_model::Setting;
use foreglow_shared::{Observation, format_duration, format_rate};
use leptos::prelude::*;

use crate::chart::about::{About, Mark, from_left};
use crate::chart::axes::{Beside, Frame, looked_at, path, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;

const HEIGHT_PX: f64 = 300.0;
const TICKS: usize = 5;
#[derive(Clone, Debug, PartialEq)]
struct Shares {
    runs: Vec<Observation>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// Chart of the measured times by sampling rate.
#[component]
pub fn SamplingRateChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let drawing = drawn(move || {
        let charts = planner.answer.charts.get()?;
        let whole = charts.grid.known().map(|known| known.cell.secs);
        let runs: Vec<Observation> = charts.runs.iter().map(|run| run.run).collect();
        let times = runs.iter().map(|run| run.completion_time_secs).chain(whole);
        let (shortest, longest) =
            times.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), t| (low.min(t), high.max(t)));
        let least = runs.iter().map(|run| run.sampling_rate).fold(1.0, f64::min).min(0.5);
        let frame = place.frame()?;
        let (left, right) = frame.across();
        Some(Shares {
            x: Scale::new(Spread::Log, (least, 1.0), (left + 12.0, right - 12.0)),
            y: Scale::new(Spread::Log, (shortest / 1.2, longest * 1.2), frame.up()),
            runs,
            frame,
        })
    });
    let frame = Card {
        id: "sampling-rate-chart",
        title: "From a share of the images to all of them",
        says: Signal::derive(|| {
            "Measured times, both axes logarithmic. The line and the filled runs are those of the what-if.".into()
        }),
        switches: ().into_any(),
    };
    card(frame, place, drawing)
}

impl Shares {
    fn px(&self, (rate, secs): (f64, f64)) -> (f64, f64) {
        let (foot, top) = self.frame.up();
        (self.x.px(rate), self.y.px(secs).clamp(top, foot))
    }
}

impl Drawing for Shares {
    fn picture(&self) -> Markup {
        let mut picture = y_axis(self.frame, &self.y, self.y.labelled_times(TICKS));
        picture.add(&y_name("completion time"));
        let rates = self.x.ticks(self.frame.labels_across());
        let rates = rates.into_iter().map(|rate| (rate, format_rate(rate))).collect();
        picture.add(&x_axis(self.frame, &self.x, rates, "share of the images"));
        let place = |run: &Observation| self.px((run.sampling_rate, run.completion_time_secs));
        picture.circles("run other", self.runs.iter().map(place).collect(), 4.5);
        picture
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let view = planner.answer.what_if.get()?;
        let (curve, what_if) = (&view.by_rate, view.selection.counts);
        let is_own = |run: &&Observation| run.split() == what_if.split();
        let mut moving = Markup::new();
        moving.path("curve", &path(curve.iter().map(|point| self.px(*point))));
        let place = |run: &Observation| self.px((run.sampling_rate, run.completion_time_secs));
        moving.circles("run own", self.runs.iter().filter(is_own).map(place).collect(), 4.5);
        if let Some(end) = curve.last() {
            let (cx, cy) = self.px(*end);
            let words = format_duration(end.1);
            let beside = Beside { at: (cx - 12.0, (cy - 10.0).max(14.0)), anchor: "end", words, value: None };
            moving.add(&looked_at((cx, cy), Some(beside)));
        }
        Some(moving)
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |run: &Observation| Mark {
            at: self.px((run.sampling_rate, run.completion_time_secs)),
            about: About::Run {
                setting: Setting::of(run),
                measured_secs: run.completion_time_secs,
                held_out_secs: None,
            },
        };
        from_left(self.runs.iter().map(mark).collect())
    }

    fn sheet(&self) -> Sheet {
        let columns = ["executors", "cores_per_executor", "sampling_rate", "completion_time_secs"];
        Sheet::new(
            &columns,
            self.runs.iter().map(|run| {
                let configuration = [run.executors.to_string(), run.split().cores()];
                let numbers = [run.sampling_rate, run.completion_time_secs].map(|number| digits(Some(number)));
                configuration.into_iter().chain(numbers).collect()
            }),
        )
    }

    fn describe(&self) -> String {
        format!(
            "Measured time of {} runs by the share of the images that they processed, and the predicted curve of the what-if.",
            self.runs.len()
        )
    }
}
