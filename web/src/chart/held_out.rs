//! Hold-out errors of the predictor: every measured setting, predicted by a fit without it.

use foreglow_model::median;
use foreglow_shared::format_percent;
use leptos::prelude::*;

use crate::chart::about::{About, Mark, from_left};
use crate::chart::axes::{Frame, keys, path, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{log_switch, spread};
use crate::data::switch::Switch;
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;
use crate::worker::plan::view::HeldOutRun;

const HEIGHT_PX: f64 = 300.0;
const TICKS: usize = 5;

/// The quantity on the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Upwards {
    /// Predicted time; a perfect prediction is on the diagonal.
    Predicted,
    /// Relative error, percent; a perfect prediction is at 0.
    Error,
}

#[derive(Clone, Debug, PartialEq)]
struct Checked {
    upwards: Upwards,
    runs: Vec<HeldOutRun>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// Chart of predicted against measured times.
#[component]
pub fn PredictedByMeasuredChart() -> impl IntoView {
    checked(Upwards::Predicted, "predicted-by-measured", "Predicted by measured")
}

/// Chart of the residuals against measured times.
#[component]
pub fn ResidualsChart() -> impl IntoView {
    checked(Upwards::Error, "residuals", "Residuals")
}

fn checked(upwards: Upwards, id: &'static str, title: &'static str) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let (axis, switch) = match upwards {
        Upwards::Predicted => ("axes", Switch::PredictedByMeasured),
        Upwards::Error => ("time", Switch::Residuals),
    };
    let spread = spread(switch);
    let runs = Memo::new(move |_| {
        planner.answer.charts.with(|charts| charts.as_ref().map(|charts| charts.held_out.clone()).unwrap_or_default())
    });
    let drawing = drawn(move || {
        planner.answer.charts.with(|charts| charts.as_ref().map(|_| ()))?;
        Some(Checked::of(upwards, runs.get(), spread.get(), place.frame()?))
    });
    let says = Signal::derive(move || match (runs.with(Vec::is_empty), upwards) {
        (true, _) => "There are too few different settings to hold some out; collect more.".into(),
        (_, Upwards::Predicted) => {
            "Every measured setting, predicted by a fit without it. On the diagonal the prediction is exact.".into()
        }
        (_, Upwards::Error) => runs.with(|runs| {
            format!(
                "Errors of these predictions, percent of the measured time; the median is {}.",
                format_percent(median_error_percent(runs))
            )
        }),
    });
    card(Card { id, title, says, switches: log_switch(axis, spread) }, place, drawing)
}

fn error_percent(run: &HeldOutRun) -> f64 {
    (run.predicted_secs / run.measured_secs - 1.0) * 100.0
}

fn median_error_percent(runs: &[HeldOutRun]) -> f64 {
    median(runs.iter().map(|run| error_percent(run).abs()))
}

impl Checked {
    fn of(upwards: Upwards, runs: Vec<HeldOutRun>, spread: Spread, frame: Frame) -> Self {
        let times = || runs.iter().flat_map(|run| [run.measured_secs, run.predicted_secs]);
        let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let range = if spread == Spread::Log { (low / 1.2, high * 1.2) } else { (0.0, high * 1.05) };
        let (left, right) = frame.across();
        let y = match upwards {
            Upwards::Predicted => Scale::new(spread, range, frame.up()),
            Upwards::Error => {
                let most = runs.iter().map(|run| error_percent(run).abs()).fold(1.0, f64::max) * 1.15;
                Scale::new(Spread::Linear, (-most, most), frame.up())
            }
        };
        Self { upwards, x: Scale::new(spread, range, (left + 8.0, right - 8.0)), y, runs, frame }
    }

    fn px(&self, run: &HeldOutRun) -> (f64, f64) {
        (
            self.x.px(run.measured_secs),
            match self.upwards {
                Upwards::Predicted => self.y.px(run.predicted_secs),
                Upwards::Error => self.y.px(error_percent(run)),
            },
        )
    }

    /// The line of perfect predictions, as a path.
    fn right(&self) -> String {
        let (first, last) = (self.x.lower(), self.x.upper());
        let y = |secs: f64| if self.upwards == Upwards::Predicted { self.y.px(secs) } else { self.y.px(0.0) };
        path([first, last].into_iter().map(|secs| (self.x.px(secs), y(secs))))
    }
}

impl Drawing for Checked {
    fn picture(&self) -> Markup {
        let upwards = match self.upwards {
            Upwards::Predicted => self.y.labelled_times(TICKS),
            Upwards::Error => {
                self.y.number_ticks(TICKS).into_iter().map(|(tick, label)| (tick, format!("{label} %"))).collect()
            }
        };
        let mut picture = y_axis(self.frame, &self.y, upwards);
        picture.add(&y_name(if self.upwards == Upwards::Predicted { "predicted time" } else { "error" }));
        picture.add(&x_axis(self.frame, &self.x, self.x.labelled_times(self.frame.labels_across()), "measured time"));
        picture.path("ideal", &self.right());
        picture.circles("run checked", self.runs.iter().map(|run| self.px(run)).collect(), 4.0);
        picture
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let what_if = planner.answer.what_if.get()?.selection.counts.split();
        let is_own = |run: &&HeldOutRun| run.setting.split() == what_if;
        let mut moving = Markup::new();
        moving.circles("run own", self.runs.iter().filter(is_own).map(|run| self.px(run)).collect(), 5.0);
        Some(moving)
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |run: &HeldOutRun| Mark {
            at: self.px(run),
            about: About::Run {
                setting: run.setting,
                measured_secs: run.measured_secs,
                held_out_secs: Some(run.predicted_secs),
            },
        };
        from_left(self.runs.iter().map(mark).collect())
    }

    fn sheet(&self) -> Sheet {
        let columns = [
            "executors",
            "cores_per_executor",
            "sampling_rate",
            "measured_secs",
            "predicted_without_it_secs",
            "error_percent",
        ];
        Sheet::new(
            &columns,
            self.runs.iter().map(|run| {
                let counts = [run.setting.executors.to_string(), run.setting.split().cores()];
                let numbers = [run.setting.sampling_rate, run.measured_secs, run.predicted_secs, error_percent(run)];
                counts.into_iter().chain(numbers.map(|number| digits(Some(number)))).collect()
            }),
        )
    }

    fn describe(&self) -> String {
        let what = match self.upwards {
            Upwards::Predicted => "Predicted by measured time",
            Upwards::Error => "Error of the prediction by measured time",
        };
        format!("{what} of {} settings that were held out.", self.runs.len())
    }

    fn legend(&self) -> Markup {
        keys(&[("checked-key", "held out"), ("looked-at", "of the what-if's configuration")])
    }
}
