//! Cost by time of every configuration, with the Pareto front.

use std::sync::Arc;

use foreglow_shared::WhatIf;
use leptos::prelude::*;

use crate::chart::about::{About, Mark, from_left};
use crate::chart::axes::{Frame, keys, looked_at, path, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{log_switch, spread};
use crate::data::switch::Switch;
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::shade::{SHADES, shade};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;
use crate::worker::plan::view::{ChartView, GridCell, PlanView};

const HEIGHT_PX: f64 = 340.0;
const TICKS: usize = 6;
const MARGIN: f64 = 1.08;

#[derive(Clone, Debug, PartialEq)]
struct TimeByMoney {
    currency: String,
    /// The configurations, which may include some of the front.
    cells: Arc<Vec<Point>>,
    colours: Arc<Colours>,
    answer: Memo<Answer>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// Names of the machine types with a colour of their own, if there are several, and the number of
/// the others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Colours {
    machines: Vec<String>,
    others: usize,
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
    about: About,
    counts: WhatIf,
    /// Index of its arm.
    arm: usize,
    /// Index of its machine type among those with a colour of their own.
    machine: Option<usize>,
    secs: f64,
    cost: f64,
}

/// Chart of cost against time.
#[component]
pub fn TimeByMoneyChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let (x, y) = (spread(Switch::CostByTimeTime), spread(Switch::CostByTimeCost));
    let plan = Memo::new(move |_| planner.answer.planned());
    let colours =
        Memo::new(move |_| Arc::new(plan.with(|plan| plan.as_ref().map(|plan| Colours::of(plan)).unwrap_or_default())));
    let cells = Memo::new(move |_| {
        let (plan, colours) = (plan.get()?, colours.get());
        let charts = if plan.lists_all() { None } else { planner.answer.charts.get() };
        Some(Arc::new(priced(&plan, charts.as_deref(), &colours.machines)))
    });
    let answer = Memo::new(move |_| {
        plan.with(|plan| plan.as_ref().map(|plan| Answer::of(plan, &colours.get().machines))).unwrap_or_default()
    });
    let currency = Memo::new(move |_| plan.with(|plan| plan.as_ref().map(|plan| plan.currency.clone())));
    let drawing = drawn(move || {
        let limits = (planner.deadline_secs.get(), planner.budget.get());
        let cells = cells.get().filter(|cells| !cells.is_empty())?;
        let named = (currency.get()?, colours.get());
        Some(TimeByMoney::of(cells, answer, named, limits, place.frame()?, (x.get(), y.get())))
    });
    let frame = Card {
        id: "time-by-money",
        title: "Cost by time",
        says: Signal::derive(move || {
            match plan.with(|plan| plan.as_ref().is_some_and(|plan| plan.cost_unknown.is_some())) {
            true => "The prices do not cover this hardware: write its price under Prices and memory.".into(),
            false => {
                "Each dot is a configuration. The line is the Pareto front: nothing else is both faster and cheaper."
                    .into()
            }
        }
        }),
        switches: view! { {log_switch("time", x)} {log_switch("cost", y)} }.into_any(),
    };
    card(frame, place, drawing)
}

impl Colours {
    /// Colours all machine types, or the best ones if there are more than colours.
    fn of(plan: &PlanView) -> Self {
        let mut machines: Vec<String> = Vec::new();
        if plan.types.len() <= 1 {
            return Self::default();
        }
        if plan.types.len() <= SHADES {
            machines.extend(plan.types.iter().map(|kind| kind.machine.clone()));
        }
        let best = plan.recommended.iter().chain(&plan.best_per_machine);
        for row in best.filter_map(|place| plan.rows.get(*place)) {
            let machine = &plan.arms[row.arm].machine;
            if machines.len() < SHADES && !machines.contains(machine) {
                machines.push(machine.clone());
            }
        }
        Self { others: plan.types.len() - machines.len(), machines }
    }

    /// Classes and labels of the legend.
    fn keys(&self) -> Vec<(String, String)> {
        let own = self.machines.iter().enumerate();
        let mut keys: Vec<(String, String)> =
            own.map(|(place, name)| (format!("line {}", shade(Some(place))), name.clone())).collect();
        if self.others > 0 {
            keys.push((format!("line {}", shade(None)), format!("{} other machine types", self.others)));
        }
        keys
    }
}

/// Every configuration with a positive cost: the rows, and the cells of the grid if the rows are
/// only the outstanding ones.
fn priced(plan: &PlanView, charts: Option<&ChartView>, machines: &[String]) -> Vec<Point> {
    let rows = (0..plan.rows.len()).filter_map(|place| Point::of(plan, place, machines));
    let cells = charts.into_iter().flat_map(|charts| {
        let machine = plan.arms.get(charts.arm).and_then(|arm| machines.iter().position(|name| *name == arm.machine));
        charts.grid.known().filter_map(move |GridCell { counts, cell }| {
            let about = About::Configuration(counts);
            Some(Point { about, counts, arm: charts.arm, machine, secs: cell.secs, cost: cell.cost? })
        })
    });
    rows.chain(cells).filter(|point| point.cost > 0.0).collect()
}

impl Point {
    fn of(plan: &PlanView, place: usize, machines: &[String]) -> Option<Self> {
        let row = plan.rows.get(place)?;
        let machine = machines.iter().position(|name| *name == plan.arms[row.arm].machine);
        let about = About::Row(place);
        Some(Self { about, counts: row.counts, arm: row.arm, machine, secs: row.secs?, cost: row.cost? })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.arm, self.counts) == (other.arm, other.counts)
    }
}

impl Answer {
    fn of(plan: &PlanView, machines: &[String]) -> Self {
        let point = |place: usize| Point::of(plan, place, machines);
        Self {
            front: plan.front.iter().filter_map(|place| point(*place)).collect(),
            recommended: plan.recommended.and_then(point),
        }
    }

    /// The dominated configurations.
    fn beaten(&self, cells: &[Point]) -> Vec<Point> {
        cells.iter().filter(|cell| !self.front.iter().any(|point| point.is_same(cell))).copied().collect()
    }
}

impl TimeByMoney {
    fn of(
        cells: Arc<Vec<Point>>,
        answer: Memo<Answer>,
        (currency, colours): (String, Arc<Colours>),
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
        Self { currency, cells, colours, answer, frame, x, y }
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
            let WhatIf { executors, cores_per_executor } = &point.counts;
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
        picture.add(&y_name(&format!("cost, {}", self.currency)));
        // A path per colour with round line caps draws all dots, so that the browser handles one
        // element instead of a thousand. The dots of the front are drawn on top.
        let dots = |machine: Option<usize>| -> String {
            let of_machine = self.cells.iter().filter(|point| point.machine == machine);
            of_machine.map(|point| self.px(point)).map(|(x, y)| format!("M{x} {y}h0")).collect()
        };
        picture.path("cloud", &dots(None));
        for machine in 0..self.colours.machines.len() {
            picture.path(&format!("cloud own {}", shade(Some(machine))), &dots(Some(machine)));
        }
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
        let row = planner.answer.looked_at()?;
        let (secs, cost) = (row.secs?, row.cost?);
        let (foot, top) = self.frame.up();
        let (left, right) = self.frame.across();
        let (cx, cy) = (self.x.px(secs), self.y.px(cost));
        (cx.is_finite() && cy.is_finite()).then(|| looked_at((cx.clamp(left, right), cy.clamp(top, foot)), None))
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |point: &Point| Mark { at: self.px(point), about: point.about };
        let answer = self.answer.get();
        // The front first: the sort is stable, and among equally near marks the first is selected.
        from_left(answer.front.iter().chain(&answer.beaten(&self.cells)).map(mark).collect())
    }

    fn sheet(&self) -> Sheet {
        let row = |point: &Point, is_front: bool| {
            let WhatIf { executors, cores_per_executor } = point.counts;
            let counts = [executors, cores_per_executor].map(|count| count.to_string());
            let numbers = [point.secs, point.cost].map(|number| digits(Some(number)));
            let rest = [self.currency.clone(), is_front.to_string()];
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
        let colours = self.colours.keys();
        known.extend(colours.iter().map(|(class, name)| (class.as_str(), name.as_str())));
        keys(&known)
    }
}
