//! Speed-up t(1) ÷ t(n) and efficiency, which is speed-up ÷ n.

use foreglow_model::{efficiency, speed_up};
use foreglow_shared::{Observation, WhatIf};
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Beside, Frame, legend_of, looked_at, path, shade, x_axis, y_axis};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{chosen, log_switch, spread, switch};
use crate::data::switch::Switch;
use crate::plot::counts::{counts_of, lines_for, thinned};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;
use crate::worker::plan::view::{ChartView, Grid};

const HEIGHT_PX: f64 = 300.0;
const TICKS: usize = 6;

/// The quantity on the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gain {
    SpeedUp,
    Efficiency,
}

/// The resource on the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Executors,
    Cores,
}

/// The speed-ups along one resource, for a fixed count of the other.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    /// The fixed count of the other resource.
    of: u32,
    /// Pairs of count n and speed-up t(1) ÷ t(n).
    points: Vec<(u32, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
struct SpeedUps {
    gain: Gain,
    over: Over,
    counts: Vec<u32>,
    others: Vec<u32>,
    series: Vec<Series>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// Chart of the speed-up or the efficiency.
#[component]
pub fn SpeedUpChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let gain = chosen(Switch::SpeedUp, &[Gain::SpeedUp, Gain::Efficiency]);
    let over = chosen(Switch::SpeedUpOver, &[Over::Executors, Over::Cores]);
    let spread = spread(Switch::SpeedUpAxes);
    let drawing = drawn(move || {
        let charts = planner.answer.charts.get()?;
        Some(SpeedUps::of(&charts, (gain.get(), over.get()), spread.get(), place.frame()?))
    });
    let says = Signal::derive(move || match (gain.get(), over.get()) {
        (Gain::SpeedUp, Over::Executors) => {
            "Speed-up over 1 executor with the same number of cores. Dashed: ideal.".into()
        }
        (Gain::SpeedUp, Over::Cores) => "Speed-up over the same number of executors with 1 core. Dashed: ideal.".into(),
        (Gain::Efficiency, Over::Executors) => "Speed-up ÷ executors; 1 is ideal.".into(),
        (Gain::Efficiency, Over::Cores) => "Speed-up ÷ cores; 1 is ideal.".into(),
    });
    let switches = view! {
        {switch("Quantity shown", gain)}
        {switch("Resource", over)}
        {log_switch("axes", spread)}
    };
    let frame = Card { id: "speed-up", title: "Speed-up", says, switches: switches.into_any() };
    card(frame, place, drawing)
}

impl SpeedUps {
    fn of(ChartView { grid, runs, .. }: &ChartView, (gain, over): (Gain, Over), spread: Spread, frame: Frame) -> Self {
        let (counts, others) = match over {
            Over::Executors => (&grid.executors, &grid.cores),
            Over::Cores => (&grid.cores, &grid.executors),
        };
        let counts = thinned(counts, 40);
        let observations: Vec<Observation> = runs.iter().map(|run| run.run).collect();
        let measured = counts_of(
            &observations,
            match over {
                Over::Executors => |run| run.cores_per_executor,
                Over::Cores => |run| run.executors,
            },
        );
        let others = lines_for(others, &measured);
        let series: Vec<Series> = others.iter().map(|of| Series::of(grid, over, *of, &counts)).collect();
        let gains = || series.iter().flat_map(|series| series.points.iter().map(|point| gained(gain, *point)));
        let most = counts.last().copied().unwrap_or(1);
        let high = gains().fold(1.0, f64::max) * 1.05;
        let low = gains().fold(1.0, f64::min);
        let foot = if spread == Spread::Log { low / 1.05 } else { 0.0 };
        let (left, right) = frame.across();
        let y = Scale::new(spread, (foot, high), frame.up());
        let x = Scale::new(spread, (1.0, f64::from(most)), (left + 12.0, right - 12.0));
        Self { gain, over, counts, others, series, frame, x, y }
    }

    fn px(&self, (count, speed_up): (u32, f64)) -> (f64, f64) {
        let (foot, top) = self.frame.up();
        (self.x.px(f64::from(count)), self.y.px(gained(self.gain, (count, speed_up))).clamp(top, foot))
    }

    fn configuration(&self, count: u32, other: u32) -> WhatIf {
        match self.over {
            Over::Executors => WhatIf { executors: count, cores_per_executor: other },
            Over::Cores => WhatIf { executors: other, cores_per_executor: count },
        }
    }

    fn noun(&self) -> (&'static str, &'static str) {
        match self.over {
            Over::Executors => ("executor", "core"),
            Over::Cores => ("core", "executor"),
        }
    }

    /// The line of ideal speed-up, clipped to the chart, as a path.
    fn ideal(&self) -> String {
        let points = self.counts.iter().map(|count| (*count, f64::from(*count)));
        let drawn = points.filter(|point| gained(self.gain, *point) <= self.y.upper());
        path(drawn.map(|point| self.px(point)))
    }
}

fn gained(gain: Gain, (count, speed_up): (u32, f64)) -> f64 {
    match gain {
        Gain::SpeedUp => speed_up,
        Gain::Efficiency => efficiency(speed_up, f64::from(count)),
    }
}

impl Series {
    /// The speed-ups of a line of the grid.
    fn of(grid: &Grid, over: Over, of: u32, counts: &[u32]) -> Self {
        let (times, one, others) = match over {
            Over::Executors => (grid.by_executors(of), &grid.one_executor, &grid.cores),
            Over::Cores => (grid.by_cores(of), &grid.one_core, &grid.executors),
        };
        let alone = others.binary_search(&of).ok().and_then(|place| one.get(place).copied().flatten());
        Self::relative(of, alone, times.into_iter().filter(|(count, _)| counts.contains(count)))
    }

    /// The speed-ups of times over the time alone.
    fn relative(of: u32, alone: Option<f64>, times: impl Iterator<Item = (u32, f64)>) -> Self {
        Self { of, points: times.filter_map(|(count, secs)| Some((count, speed_up(alone?, secs)))).collect() }
    }
}

impl Drawing for SpeedUps {
    fn picture(&self) -> Markup {
        let (noun, _) = self.noun();
        let mut picture = y_axis(self.frame, &self.y, self.y.number_ticks(TICKS));
        let counts = self.x.count_ticks(self.frame.labels_across());
        picture.add(&x_axis(self.frame, &self.x, counts, &format!("{noun}s")));
        picture.path("ideal", &self.ideal());
        for series in &self.series {
            let mut line = Markup::new();
            line.path("", &path(series.points.iter().map(|point| self.px(*point))));
            picture.group("g", &format!("line {}", shade(&self.others, series.of)), &line);
        }
        picture
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let view = planner.answer.what_if.get()?;
        let WhatIf { executors, cores_per_executor } = view.selection.counts;
        let (count, other, times) = match self.over {
            Over::Executors => (executors, cores_per_executor, &view.by_executors),
            Over::Cores => (cores_per_executor, executors, &view.by_cores),
        };
        let alone = times.iter().find(|(count, _)| *count == 1).map(|(_, secs)| *secs);
        let own = Series::relative(other, alone, times.iter().copied());
        let mut moving = Markup::new();
        moving.path("own-line", &path(own.points.iter().map(|point| self.px(*point))));
        for point in own.points.iter().filter(|point| point.0 == count) {
            let (cx, cy) = self.px(*point);
            let value = gained(self.gain, *point);
            let anchor = if cx > self.frame.width / 2.0 { "end" } else { "start" };
            let x = if anchor == "end" { cx - 12.0 } else { cx + 12.0 };
            let words = match self.gain {
                Gain::SpeedUp => format!("{value:.2}×"),
                Gain::Efficiency => format!("{:.0} %", value * 100.0),
            };
            let beside = Beside { at: (x, cy + 18.0), anchor, words, value: Some(("gain", value)) };
            moving.add(&looked_at((cx, cy), Some(beside)));
        }
        Some(moving)
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |series: &Series, point: &(u32, f64)| Mark {
            at: self.px(*point),
            about: About::Configuration(self.configuration(point.0, series.of)),
        };
        self.series.iter().flat_map(|series| series.points.iter().map(move |point| mark(series, point))).collect()
    }

    fn sheet(&self) -> Sheet {
        let rows = self.series.iter().flat_map(|series| {
            series.points.iter().map(|point| {
                let WhatIf { executors, cores_per_executor } = self.configuration(point.0, series.of);
                let counts = [executors, cores_per_executor].map(|count| count.to_string());
                let gains = [Gain::SpeedUp, Gain::Efficiency].map(|gain| digits(Some(gained(gain, *point))));
                counts.into_iter().chain(gains).collect()
            })
        });
        Sheet::new(&["executors", "cores_per_executor", "speed_up", "efficiency"], rows)
    }

    fn describe(&self) -> String {
        let (noun, other) = self.noun();
        let what = if self.gain == Gain::SpeedUp { "Speed-up" } else { "Efficiency" };
        format!("{what} by number of {noun}s, one line for each of {} numbers of {other}s.", self.others.len())
    }

    fn legend(&self) -> Markup {
        let (_, other) = self.noun();
        legend_of(&self.others, other, &[("looked-at", "what if")])
    }
}
