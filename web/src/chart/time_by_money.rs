//! Money by time of every configuration, and the front that no other beats.

use std::sync::Arc;

use foreglow_model::Decision;
use foreglow_shared::{WhatIf, sort_by};
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Frame, looked_at, path, x_axis, y_axis};
use crate::chart::card::{Card, Drawing, Place, card, drawn, keys, log_switch};
use crate::chart::grid::{Grid, Rates};
use crate::chart::markup::Markup;
use crate::chart::overview::Overview;
use crate::chart::scale::{Scale, Spread};
use crate::chart::sheet::{Sheet, digits};
use crate::state::Planner;

const HEIGHT_PX: f64 = 340.0;
const TICKS: usize = 6;
const MARGIN: f64 = 1.08;

#[derive(Clone, Debug, PartialEq)]
struct TimeByMoney {
    rates: Rates,
    /// Those that something else beats, and the front, by time.
    beaten: Vec<Point>,
    front: Vec<Point>,
    recommended: Option<Point>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    configuration: WhatIf,
    secs: f64,
    cost: f64,
}

/// The chart.
#[component]
pub fn TimeByMoneyChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let overview = expect_context::<Overview>();
    let place = Place::new(HEIGHT_PX);
    let (x, y) = (RwSignal::new(Spread::Log), RwSignal::new(Spread::Log));
    let drawing = drawn(move || {
        let decision = planner.decision.get()?.ok()?;
        let grid = overview.grid.get()?;
        let limits = (planner.deadline_secs.get(), planner.budget.get());
        let spreads = (x.get(), y.get());
        Some(TimeByMoney::of(&decision, &grid, overview.rates.get(), limits, place.frame()?, spreads))
    });
    let frame = Card {
        id: "time-by-money",
        title: "Time by money",
        says: Signal::derive(|| {
            "Each dot is a configuration. On the line nothing else is both faster and cheaper: the Pareto front.".into()
        }),
        switches: view! { {log_switch("time", x)} {log_switch("money", y)} }.into_any(),
    };
    card(frame, place, drawing)
}

impl TimeByMoney {
    fn of(
        decision: &Arc<Decision>,
        grid: &Grid,
        rates: Rates,
        (deadline_secs, budget): (Option<f64>, Option<f64>),
        frame: Frame,
        (across, up): (Spread, Spread),
    ) -> Self {
        let point = |place: usize| {
            let candidate = &decision.candidates[place];
            let configuration =
                WhatIf { executors: candidate.executors, cores_per_executor: candidate.cores_per_executor };
            Some(Point { configuration, secs: candidate.prediction.completion_time_secs?, cost: candidate.cost? })
        };
        let front: Vec<Point> = decision.pareto.iter().filter_map(|place| point(*place)).collect();
        let is_on_front = |configuration: WhatIf| front.iter().any(|point| point.configuration == configuration);
        let beaten: Vec<Point> = grid
            .cells()
            .map(|cell| Point {
                configuration: WhatIf { executors: cell.executors, cores_per_executor: cell.cores },
                secs: cell.secs,
                cost: rates.cost(cell.executors, cell.cores, cell.secs),
            })
            .filter(|point| point.cost.is_finite() && point.cost > 0.0 && !is_on_front(point.configuration))
            .collect();
        let range = |of: fn(&Point) -> f64| {
            let all = beaten.iter().chain(&front).map(of);
            all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), number| (low.min(number), high.max(number)))
        };
        let scale = |spread: Spread, (low, high): (f64, f64), limit: Option<f64>, ends: (f64, f64)| {
            // A limit that lies among the dots is drawn; one far away would squeeze them together.
            let limit = limit.filter(|limit| *limit >= low / 2.0 && *limit <= high * 2.0);
            let (low, high) = (limit.map_or(low, |limit| low.min(limit)), limit.map_or(high, |limit| high.max(limit)));
            let low = if spread == Spread::Log { low / MARGIN } else { 0.0 };
            Scale::new(spread, (low, high * MARGIN), ends)
        };
        let x = scale(across, range(|point| point.secs), deadline_secs, frame.across());
        let y = scale(up, range(|point| point.cost), budget, frame.up());
        let recommended = decision.recommended.and_then(point);
        Self { rates, beaten, front, recommended, frame, x, y }
    }

    fn px(&self, point: &Point) -> (f64, f64) {
        (self.x.px(point.secs), self.y.px(point.cost))
    }
}

impl Drawing for TimeByMoney {
    fn picture(&self) -> Markup {
        let mut picture = y_axis(self.frame, &self.y, self.y.number_ticks(TICKS));
        let times = self.x.labelled_times(self.frame.labels_across());
        picture.add(&x_axis(self.frame, &self.x, times, "completion time"));
        picture.words("text", &[("class", &"axis-name"), ("x", &0.0), ("y", &12.0)], &self.rates.prices.currency);
        // One path of round caps draws a thousand dots at the price of one.
        let dots: String = self.beaten.iter().map(|point| self.px(point)).map(|(x, y)| format!("M{x} {y}h0")).collect();
        picture.path("cloud", &dots);
        picture.path("front", &path(self.front.iter().map(|point| self.px(point))));
        if let Some(point) = &self.recommended {
            picture.circle("recommended-dot", self.px(point), 8.0);
        }
        for point in &self.front {
            let (cx, cy) = self.px(point);
            let WhatIf { executors, cores_per_executor } = &point.configuration;
            picture.shape(
                "circle",
                &[
                    ("class", &"front-dot"),
                    ("cx", &cx),
                    ("cy", &cy),
                    ("r", &4.0),
                    ("data-testid", &"front-point"),
                    ("data-executors", executors),
                    ("data-cores", cores_per_executor),
                ],
            );
        }
        picture
    }

    fn limits(&self, planner: Planner) -> Option<Markup> {
        let (foot, top) = self.frame.up();
        let (left, right) = self.frame.across();
        let mut limits = Markup::new();
        if let Some(x) = planner.deadline_secs.get().filter(|secs| self.x.holds(*secs)).map(|secs| self.x.px(secs)) {
            limits.line((x, foot), (x, top));
            limits.label((x - 6.0, top + 10.0), "end", "deadline");
        }
        if let Some(y) = planner.budget.get().filter(|money| self.y.holds(*money)).map(|money| self.y.px(money)) {
            limits.line((left, y), (right, y));
            limits.label((right, y - 6.0), "end", "budget");
        }
        let mut group = Markup::new();
        group.group("g", "deadline", &limits);
        Some(group)
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let configuration = planner.what_if.get();
        let secs = planner.prediction.with(|prediction| prediction.as_ref()?.completion_time_secs)?;
        let cost = self.rates.cost(configuration.executors, configuration.cores_per_executor, secs);
        let (foot, top) = self.frame.up();
        let (left, right) = self.frame.across();
        let (cx, cy) = self.px(&Point { configuration, secs, cost });
        (cx.is_finite() && cy.is_finite()).then(|| looked_at((cx.clamp(left, right), cy.clamp(top, foot)), None))
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |point: &Point| Mark { at: self.px(point), about: About::Configuration(point.configuration) };
        // Of equally near ones the front comes first.
        let mut marks: Vec<Mark> = self.front.iter().chain(&self.beaten).map(mark).collect();
        sort_by(&mut marks, |a, b| a.at.0.total_cmp(&b.at.0));
        marks
    }

    fn sheet(&self) -> Sheet {
        let row = |point: &Point, is_front: bool| {
            let WhatIf { executors, cores_per_executor } = point.configuration;
            let counts = [executors, cores_per_executor].map(|count| count.to_string());
            let numbers = [point.secs, point.cost].map(|number| digits(Some(number)));
            let rest = [self.rates.prices.currency.clone(), is_front.to_string()];
            counts.into_iter().chain(numbers).chain(rest).collect::<Vec<String>>()
        };
        let columns = ["executors", "cores_per_executor", "completion_time_secs", "cost", "currency", "pareto"];
        let front = self.front.iter().map(|point| row(point, true));
        Sheet::new(&columns, front.chain(self.beaten.iter().map(|point| row(point, false))))
    }

    fn describe(&self) -> String {
        format!(
            "Money by completion time of {} configurations; {} of them are on the Pareto front.",
            self.beaten.len() + self.front.len(),
            self.front.len()
        )
    }

    fn legend(&self) -> Markup {
        let mut known = vec![("front-key", "Pareto front"), ("cloud-key", "beaten by another")];
        known.extend(self.recommended.map(|_| ("recommended-key", "recommended")));
        known.push(("looked-at", "what if"));
        keys(&known)
    }
}
