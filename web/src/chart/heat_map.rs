//! Heat map of executors by cores, coloured by time, cost or probability of success.

use std::fmt::Write as _;

use foreglow_shared::{WhatIf, format_duration, format_price, format_probability};
use leptos::prelude::*;

use crate::chart::about::{About, Mark};
use crate::chart::axes::{Frame, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{chosen, switch};
use crate::data::switch::Switch;
use crate::plot::markup::{Attributes, Markup};
use crate::plot::scale::{Scale, Spread, log_tick_time, tick_number};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;
use crate::worker::plan::view::{Cell, ChartView};

const HEIGHT_PX: f64 = 340.0;
/// Number of colours.
const STEPS: usize = 9;
/// The CSS class of a cell of each colour.
const CELLS: [&str; STEPS] = [
    "heat heat-0",
    "heat heat-1",
    "heat heat-2",
    "heat heat-3",
    "heat heat-4",
    "heat heat-5",
    "heat heat-6",
    "heat heat-7",
    "heat heat-8",
];
/// Minimum size of a cell that shows its value.
const ROOM_PX: (f64, f64) = (64.0, 20.0);

/// The quantity that determines a cell's colour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    Time,
    Money,
    Chance,
}

#[derive(Clone, Debug, PartialEq)]
struct HeatMap {
    grid: Counted,
    currency: String,
    measure: Measure,
    /// Indexed by executors and then cores.
    values: Vec<Vec<Option<f64>>>,
    range: (f64, f64),
    frame: Frame,
}

/// The axes, and the times that the deadline is compared with. Only a change of what is shown
/// redraws the chart.
#[derive(Clone, Debug, PartialEq)]
struct Counted {
    executors: Vec<u32>,
    cores: Vec<u32>,
    secs: Vec<Vec<Option<f64>>>,
}

/// Chart of the configuration space as a heat map.
#[component]
pub fn HeatMapChart() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let measure = chosen(Switch::HeatMap, &[Measure::Time, Measure::Money, Measure::Chance]);
    let drawing = drawn(move || {
        let charts = planner.answer.charts.get()?;
        let currency = planner.answer.planned()?.currency.clone();
        Some(HeatMap::of(&charts, currency, measure.get(), place.frame()?))
    });
    let says = Signal::derive(move || match (measure.get(), planner.deadline_secs.get()) {
        (Measure::Chance, None) => "The probability depends on a deadline: set one in the question.".into(),
        (Measure::Money, _) if planner.answer.planned().is_some_and(|plan| plan.cost_unknown.is_some()) => {
            "The prices do not cover this hardware: write its price under Prices and memory.".into()
        }
        (_, Some(deadline)) => format!(
            "Executors by cores. The dashed line separates what is predicted to finish within {} from the rest.",
            format_duration(deadline)
        ),
        (_, None) => "Executors by cores, on a logarithmic scale.".into(),
    });
    let frame = Card { id: "heat-map", title: "Executors × cores", says, switches: switch("Quantity shown", measure) };
    card(frame, place, drawing)
}

impl HeatMap {
    fn of(charts: &ChartView, currency: String, measure: Measure, frame: Frame) -> Self {
        let value = |cell: &Option<Cell>| {
            let cell = cell.as_ref()?;
            match measure {
                Measure::Time => Some(cell.secs),
                Measure::Money => cell.cost,
                Measure::Chance => cell.chance,
            }
        };
        let grid = &charts.grid;
        let values: Vec<Vec<Option<f64>>> = grid.cells.iter().map(|row| row.iter().map(value).collect()).collect();
        let known = values.iter().flatten().flatten();
        let range = match measure {
            Measure::Chance => (0.0, 1.0),
            _ => known.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(*value), high.max(*value))),
        };
        let secs = grid.cells.iter().map(|row| row.iter().map(|cell| Some(cell.as_ref()?.secs)).collect()).collect();
        let (executors, cores) = (grid.executors.clone(), grid.cores.clone());
        Self { grid: Counted { executors, cores, secs }, currency, measure, values, range, frame }
    }

    /// Left, top, width and height of a cell.
    fn cell(&self, row: usize, column: usize) -> (f64, f64, f64, f64) {
        let ((left, right), (foot, top)) = (self.frame.across(), self.frame.up());
        let width = (right - left) / self.grid.executors.len() as f64;
        let height = (foot - top) / self.grid.cores.len() as f64;
        (left + width * row as f64, foot - height * (column + 1) as f64, width, height)
    }

    fn centre(&self, row: usize, column: usize) -> (f64, f64) {
        let (x, y, width, height) = self.cell(row, column);
        (x + width / 2.0, y + height / 2.0)
    }

    /// The colour index: equal ratios for times and costs, equal differences for probabilities.
    fn step(&self, value: f64) -> usize {
        let (low, high) = self.range;
        let share = match self.measure {
            Measure::Chance => value,
            _ if high > low && low > 0.0 => (value / low).ln() / (high / low).ln(),
            _ => 0.5,
        };
        ((share * STEPS as f64) as usize).min(STEPS - 1)
    }

    fn short(&self, value: f64) -> String {
        match self.measure {
            Measure::Time if value < 60.0 => format!("{} s", tick_number((value * 100.0).round() / 100.0)),
            Measure::Time => log_tick_time(value),
            Measure::Money => tick_number(value).chars().take(9).collect(),
            Measure::Chance => format_probability(value),
        }
    }

    fn long(&self, value: f64) -> String {
        match self.measure {
            Measure::Time => format_duration(value),
            Measure::Money => format_price(value, &self.currency),
            Measure::Chance => format_probability(value),
        }
    }

    /// Draws all cells of a colour as one path. A thousand elements would each be laid out and
    /// painted whenever the mark above them moves.
    fn cells(&self) -> Markup {
        let (_, _, width, height) = self.cell(0, 0);
        let gap = if width > 12.0 && height > 12.0 { 2.0 } else { 0.0 };
        let corner = if gap > 0.0 { 3.0 } else { 0.0 };
        let has_room = width >= ROOM_PX.0 && height >= ROOM_PX.1;
        let (width, height) = (hundredths(width - gap), hundredths(height - gap));
        let (mut paths, mut unknown) = (vec![String::new(); STEPS], String::new());
        let mut words = Markup::new();
        for (row, values) in self.values.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                let (x, y, ..) = self.cell(row, column);
                let (x, y) = (hundredths(x), hundredths(y));
                let path = value.map_or(&mut unknown, |value| &mut paths[self.step(value)]);
                rounded(path, (x, y), (width, height), corner);
                if let Some(value) = value.filter(|_| has_room) {
                    let class = format!("on-{}", CELLS[self.step(value)]);
                    let (x, y) = (hundredths(x + width / 2.0), hundredths(y + height / 2.0 + 4.5));
                    let place: Attributes = &[("class", &class), ("x", &x), ("y", &y), ("text-anchor", &"middle")];
                    words.words("text", place, &self.short(value));
                }
            }
        }
        let mut cells = Markup::new();
        for (class, path) in CELLS.iter().zip(&paths).chain([(&"heat heat-none", &unknown)]) {
            if !path.is_empty() {
                cells.path(class, path);
            }
        }
        cells.add(&words);
        cells
    }

    /// The edges between cells that are predicted to meet a deadline and cells that are not.
    fn border(&self, deadline_secs: f64) -> String {
        let keeps = |secs: &Option<f64>| secs.is_some_and(|secs| secs <= deadline_secs);
        let in_time: Vec<Vec<bool>> = self.grid.secs.iter().map(|row| row.iter().map(keeps).collect()).collect();
        let mut edges = String::new();
        for (row, column) in
            (0..self.grid.executors.len()).flat_map(|row| (0..self.grid.cores.len()).map(move |c| (row, c)))
        {
            let (x, y, width, height) = self.cell(row, column);
            let own = in_time[row][column];
            if in_time.get(row + 1).is_some_and(|next| next[column] != own) {
                let _ = write!(edges, "M{:.2} {y:.2}v{height:.2}", x + width);
            }
            if in_time[row].get(column + 1).is_some_and(|next| *next != own) {
                let _ = write!(edges, "M{x:.2} {y:.2}h{width:.2}");
            }
        }
        edges
    }

    fn ticks(counts: &[u32], labels: usize) -> Vec<(f64, String)> {
        let stride = counts.len().div_ceil(labels.max(1));
        let label = |(place, count): (usize, &u32)| (place as f64 + 0.5, count.to_string());
        counts.iter().enumerate().step_by(stride).map(label).collect()
    }
}

impl Drawing for HeatMap {
    fn picture(&self) -> Markup {
        let x = Scale::new(Spread::Linear, (0.0, self.grid.executors.len() as f64), self.frame.across());
        let y = Scale::new(Spread::Linear, (0.0, self.grid.cores.len() as f64), self.frame.up());
        let executors = Self::ticks(&self.grid.executors, self.frame.labels_across());
        let mut picture = x_axis(self.frame, &x, executors, "executors");
        picture.add(&y_name("cores per executor"));
        picture.group("g", "bare", &y_axis(self.frame, &y, Self::ticks(&self.grid.cores, 8)));
        picture.add(&self.cells());
        picture
    }

    fn limits(&self, planner: Planner) -> Option<Markup> {
        let mut limits = Markup::new();
        let border = self.border(planner.deadline_secs.get()?);
        limits.path("border halo", &border);
        limits.path("border", &border);
        Some(limits)
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let WhatIf { executors, cores_per_executor } = planner.answer.what_if.get()?.selection.counts;
        // On a thinned grid, the nearest cell represents the what-if.
        let nearest = |counts: &[u32], wanted: u32| {
            counts.iter().enumerate().min_by_key(|(_, count)| count.abs_diff(wanted)).map(|(place, _)| place)
        };
        let row = nearest(&self.grid.executors, executors)?;
        let column = nearest(&self.grid.cores, cores_per_executor)?;
        let (x, y, width, height) = self.cell(row, column);
        let gap = if width > 12.0 && height > 12.0 { 2.0 } else { 0.0 };
        let mut moving = Markup::new();
        for class in ["looked-at-cell halo", "looked-at-cell"] {
            moving.shape(
                "rect",
                &[
                    ("class", &class),
                    ("x", &(x - 1.0)),
                    ("y", &(y - 1.0)),
                    ("width", &((width - gap).max(4.0) + 2.0)),
                    ("height", &((height - gap).max(4.0) + 2.0)),
                    ("rx", &4.0),
                ],
            );
        }
        Some(moving)
    }

    fn marks(&self) -> Vec<Mark> {
        let cells = (0..self.grid.executors.len()).flat_map(|row| (0..self.grid.cores.len()).map(move |c| (row, c)));
        let mark = |(row, column)| {
            let configuration =
                WhatIf { executors: self.grid.executors[row], cores_per_executor: self.grid.cores[column] };
            Mark { at: self.centre(row, column), about: About::Configuration(configuration) }
        };
        cells.map(mark).collect()
    }

    fn sheet(&self) -> Sheet {
        let name = match self.measure {
            Measure::Time => "completion_time_secs",
            Measure::Money => "cost",
            Measure::Chance => "success_probability",
        };
        let rows = self.grid.executors.iter().zip(&self.values).flat_map(|(executors, values)| {
            let row = move |(cores, value): (&u32, &Option<f64>)| {
                vec![executors.to_string(), cores.to_string(), digits(*value)]
            };
            self.grid.cores.iter().zip(values).map(row)
        });
        Sheet::new(&["executors", "cores_per_executor", name], rows)
    }

    fn describe(&self) -> String {
        let (low, high) = self.range;
        let (fewest, most) = (self.grid.executors.first(), self.grid.executors.last());
        let colours = match low <= high {
            true => format!("coloured from {} to {}", self.long(low), self.long(high)),
            false => "nothing of which is known".to_owned(),
        };
        format!(
            "A grid of {} to {} executors by {} to {} cores, {colours}.",
            fewest.copied().unwrap_or(1),
            most.copied().unwrap_or(1),
            self.grid.cores.first().copied().unwrap_or(1),
            self.grid.cores.last().copied().unwrap_or(1),
        )
    }

    fn legend(&self) -> Markup {
        let (low, high) = self.range;
        let mut legend = Markup::new();
        if low.is_finite() && high >= low {
            let mut swatches = Markup::new();
            for step in 0..STEPS {
                swatches.shape("span", &[("class", &format_args!("swatch heat-{step}"))]);
            }
            let mut ramp = Markup::new();
            ramp.words("span", &[], &self.long(low));
            ramp.holding("span", &[("class", &"swatches"), ("aria-hidden", &"true")], &swatches);
            ramp.words("span", &[], &self.long(high));
            legend.group("p", "legend ramp", &ramp);
        }
        legend
    }
}

/// Appends a rectangle with rounded corners to a path.
fn rounded(path: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), corner: f64) {
    let (across, up) = (hundredths(width - 2.0 * corner), hundredths(height - 2.0 * corner));
    // Writing to a `String` cannot fail.
    let _ = match corner > 0.0 {
        true => write!(
            path,
            "M{} {y}h{across}q{corner} 0 {corner} {corner}v{up}q0 {corner} -{corner} {corner}h-{across}q-{corner} 0 -{corner} -{corner}\
             v-{up}q0 -{corner} {corner} -{corner}z",
            hundredths(x + corner)
        ),
        false => write!(path, "M{x} {y}h{width}v{height}h-{width}z"),
    };
}

/// Rounds pixels to hundredths, which is below what is visible.
fn hundredths(px: f64) -> f64 {
    (px * 100.0).round() / 100.0
}
