//! Cost by time of every configuration, with the Pareto front.

use std::sync::Arc;

use foreglow_model::Decision;
use foreglow_shared::WhatIf;
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Frame, keys, looked_at, path, x_axis, y_axis, y_name};
use crate::chart::card::{Card, Drawing, Place, card, drawn};
use crate::chart::overview::Overview;
use crate::chart::switch::{log_switch, spread};
use crate::data::switch::Switch;
use crate::plot::grid::{Cell, Grid, Rates};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;

const HEIGHT_PX: f64 = 340.0;
const TICKS: usize = 6;
const MARGIN: f64 = 1.08;

#[derive(Clone, Debug, PartialEq)]
struct TimeByMoney {
    rates: Rates,
    /// The configurations of the grid, which may include some of the front.
    cells: Arc<Vec<Point>>,
    answer: Memo<Answer>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// The front and the recommendation: the part that changes with the deadline.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answer {
    /// Sorted by time.
    front: Vec<Point>,
    recommended: Option<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    configuration: WhatIf,
    secs: f64,
    cost: f64,
}

/// Chart of cost against time.
#[component]
pub fn TimeByMoneyChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let overview = expect_context::<Overview>();
    let place = Place::new(HEIGHT_PX);
    let (x, y) = (spread(Switch::CostByTimeTime), spread(Switch::CostByTimeCost));
    let cells = Memo::new(move |_| {
        let grid = overview.grid.get()?;
        Some(Arc::new(overview.rates.with(|rates| priced(&grid, rates))))
    });
    let answer = Memo::new(move |_| {
        planner.decision.with(|decision| decision.as_ref()?.as_ref().ok().map(Answer::of)).unwrap_or_default()
    });
    let drawing = drawn(move || {
        planner.decision.with(|decision| decision.as_ref().is_some_and(Result::is_ok)).then_some(())?;
        let limits = (planner.deadline_secs.get(), planner.budget.get());
        let spreads = (x.get(), y.get());
        let cells = cells.get().filter(|cells| !cells.is_empty())?;
        Some(TimeByMoney::of(cells, answer, overview.rates.get(), limits, place.frame()?, spreads))
    });
    let frame = Card {
        id: "time-by-money",
        title: "Cost by time",
        says: Signal::derive(move || match planner.unpriced() {
            Some(_) => "The prices do not cover this hardware: write its price under Prices and memory.".into(),
            None => {
                "Each dot is a configuration. The line is the Pareto front: nothing else is both faster and cheaper."
                    .into()
            }
        }),
        switches: view! { {log_switch("time", x)} {log_switch("cost", y)} }.into_any(),
    };
    card(frame, place, drawing)
}

/// Every configuration of the grid with a positive cost.
fn priced(grid: &Grid, rates: &Rates) -> Vec<Point> {
    let point = |cell: Cell| {
        Some(Point {
            configuration: WhatIf { executors: cell.executors, cores_per_executor: cell.cores },
            secs: cell.secs,
            cost: rates.cost(cell.executors, cell.cores, cell.secs)?,
        })
    };
    grid.cells().filter_map(point).filter(|point| point.cost > 0.0).collect()
}

impl Answer {
    fn of(decision: &Arc<Decision>) -> Self {
        let point = |place: usize| {
            let candidate = &decision.candidates[place];
            let configuration = WhatIf {
                executors: candidate.placement.executors,
                cores_per_executor: candidate.placement.cores_per_executor,
            };
            Some(Point { configuration, secs: candidate.prediction.completion_time_secs?, cost: candidate.cost? })
        };
        let front = decision.pareto.iter().filter_map(|place| point(*place)).collect();
        Self { front, recommended: decision.recommended.and_then(point) }
    }

    /// The dominated configurations.
    fn beaten(&self, cells: &[Point]) -> Vec<Point> {
        let is_on_front = |cell: &&Point| self.front.iter().any(|point| point.configuration == cell.configuration);
        cells.iter().filter(|cell| !is_on_front(cell)).copied().collect()
    }
}

impl TimeByMoney {
    fn of(
        cells: Arc<Vec<Point>>,
        answer: Memo<Answer>,
        rates: Rates,
        (deadline_secs, budget): (Option<f64>, Option<f64>),
        frame: Frame,
        (across, up): (Spread, Spread),
    ) -> Self {
        let range = |of: fn(&Point) -> f64| {
            answer.with(|answer| {
                let all = cells.iter().chain(&answer.front).map(of);
                all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), number| (low.min(number), high.max(number)))
            })
        };
        let scale = |spread: Spread, (low, high): (f64, f64), limit: Option<f64>, ends: (f64, f64)| {
            // A limit far from all dots is not drawn, because it would squeeze them together.
            let limit = limit.filter(|limit| *limit >= low / 2.0 && *limit <= high * 2.0);
            let (low, high) = (limit.map_or(low, |limit| low.min(limit)), limit.map_or(high, |limit| high.max(limit)));
            let low = if spread == Spread::Log { low / MARGIN } else { 0.0 };
            Scale::new(spread, (low, high * MARGIN), ends)
        };
        let x = scale(across, range(|point| point.secs), deadline_secs, frame.across());
        let y = scale(up, range(|point| point.cost), budget, frame.up());
        Self { rates, cells, answer, frame, x, y }
    }

    fn px(&self, point: &Point) -> (f64, f64) {
        (self.x.px(point.secs), self.y.px(point.cost))
    }

    fn front(&self, answer: &Answer) -> Markup {
        let mut front = Markup::new();
        front.path("front", &path(answer.front.iter().map(|point| self.px(point))));
        if let Some(point) = &answer.recommended {
            front.circle("recommended-dot", self.px(point), 8.0);
        }
        for point in &answer.front {
            let (cx, cy) = self.px(point);
            let WhatIf { executors, cores_per_executor } = &point.configuration;
            front.shape(
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
        front
    }
}

impl Drawing for TimeByMoney {
    fn picture(&self) -> Markup {
        let mut picture = y_axis(self.frame, &self.y, self.y.number_ticks(TICKS));
        let times = self.x.labelled_times(self.frame.labels_across());
        picture.add(&x_axis(self.frame, &self.x, times, "completion time"));
        picture.add(&y_name(&format!("cost, {}", self.rates.prices.currency)));
        // A single path with round line caps draws all dots, so that the browser handles one
        // element instead of a thousand. The dots of the front are drawn on top.
        let dots: String = self.cells.iter().map(|point| self.px(point)).map(|(x, y)| format!("M{x} {y}h0")).collect();
        picture.path("cloud", &dots);
        picture
    }

    fn limits(&self, planner: Planner) -> Option<Markup> {
        let (foot, top) = self.frame.up();
        let (left, right) = self.frame.across();
        let mut answered = self.answer.with(|answer| self.front(answer));
        let mut limits = Markup::new();
        if let Some(x) = planner.deadline_secs.get().filter(|secs| self.x.holds(*secs)).map(|secs| self.x.px(secs)) {
            limits.line((x, foot), (x, top));
            limits.label((x - 6.0, top + 10.0), "end", "deadline");
        }
        if let Some(y) = planner.budget.get().filter(|money| self.y.holds(*money)).map(|money| self.y.px(money)) {
            limits.line((left, y), (right, y));
            limits.label((right, y - 6.0), "end", "budget");
        }
        answered.group("g", "deadline", &limits);
        Some(answered)
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let configuration = planner.what_if.get();
        let secs = planner.prediction.with(|prediction| prediction.as_ref()?.completion_time_secs)?;
        let cost = self.rates.cost(configuration.executors, configuration.cores_per_executor, secs)?;
        let (foot, top) = self.frame.up();
        let (left, right) = self.frame.across();
        let (cx, cy) = self.px(&Point { configuration, secs, cost });
        (cx.is_finite() && cy.is_finite()).then(|| looked_at((cx.clamp(left, right), cy.clamp(top, foot)), None))
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |point: &Point| Mark { at: self.px(point), about: About::Configuration(point.configuration) };
        let answer = self.answer.get();
        // The front first: the sort is stable, and among equally near marks the first is selected.
        let mut marks: Vec<Mark> = answer.front.iter().chain(&answer.beaten(&self.cells)).map(mark).collect();
        marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
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
        let answer = self.answer.get();
        let front = answer.front.iter().map(|point| row(point, true));
        Sheet::new(&columns, front.chain(answer.beaten(&self.cells).iter().map(|point| row(point, false))))
    }

    fn describe(&self) -> String {
        self.answer.with(|answer| {
            let front = answer.front.len();
            format!(
                "Cost by completion time of {} configurations; {front} of them are on the Pareto front.",
                answer.beaten(&self.cells).len() + front,
            )
        })
    }

    fn legend(&self) -> Markup {
        let mut known = vec![("front-key", "Pareto front"), ("cloud-key", "dominated")];
        known.extend(self.answer.with(|answer| answer.recommended.map(|_| ("recommended-key", "recommended"))));
        known.push(("looked-at", "what if"));
        keys(&known)
    }
}
