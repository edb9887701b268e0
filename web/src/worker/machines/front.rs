//! Cost by time over all machine types: the Pareto front and the best of each machine type, with a
//! colour for each.

use foreglow_shared::{format_duration, format_money};

use super::{MachineRow, MachineTable};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};

/// Size of the chart, in the units of its view box.
const SIZE: (f64, f64) = (960.0, 320.0);
const ACROSS: (f64, f64) = (78.0, 940.0);
const UP: (f64, f64) = (270.0, 26.0);
/// Room between the outermost dots and the axes, as a factor.
const MARGIN: f64 = 1.12;
/// Number of colours.
const SHADES: usize = 6;

/// The machine types with a distinct colour: all of them, or the best ones if there are more
/// machine types than colours.
pub fn coloured(table: &MachineTable) -> Vec<&str> {
    if table.types.len() <= SHADES {
        return table.types.iter().map(|kind| kind.machine.as_str()).collect();
    }
    let mut best: Vec<&str> = Vec::new();
    for row in table.recommended.iter().chain(&table.best).filter_map(|place| table.rows.get(*place)) {
        if !best.contains(&row.machine.as_str()) {
            best.push(&row.machine);
        }
    }
    best.truncate(SHADES);
    best
}

/// The class of the colour at a place, ordered so that neighbours differ most; `None` for machine
/// types without a distinct colour.
pub fn shade(place: Option<usize>) -> String {
    const ORDER: [usize; SHADES] = [5, 1, 3, 0, 4, 2];
    place.map_or_else(|| "shade-none".to_owned(), |place| format!("shade-{}", ORDER[place % SHADES]))
}

/// Draws the chart as an SVG element; empty without a known price.
pub fn picture(table: &MachineTable, deadline_secs: Option<f64>) -> Markup {
    let point = |place: &usize| {
        let row = table.rows.get(*place)?;
        Some((*place, row, (row.secs?, row.cost?)))
    };
    let mut places: Vec<usize> = table.pareto.iter().chain(&table.best).copied().collect();
    places.sort();
    places.dedup();
    let points: Vec<(usize, &MachineRow, (f64, f64))> = places.iter().filter_map(point).collect();
    let mut svg = Markup::new();
    if points.is_empty() {
        return svg;
    }
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let range = points.iter().map(|(_, _, point)| of(point));
        let (low, high) = range.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        (low / MARGIN, high * MARGIN)
    };
    let x = Scale::new(Spread::Log, ends(|point| point.0), ACROSS);
    let y = Scale::new(Spread::Log, ends(|point| point.1), UP);
    let mut axes = Markup::new();
    for (value, label) in y.number_ticks(5) {
        axes.line((ACROSS.0, y.px(value)), (ACROSS.1, y.px(value)));
        axes.label((ACROSS.0 - 8.0, y.px(value) + 4.0), "end", &label);
    }
    axes.label((8.0, 14.0), "start", &format!("cost, {}", table.currency));
    for (secs, label) in x.labelled_times(9) {
        axes.label((x.px(secs), UP.0 + 20.0), "middle", &label);
    }
    axes.label((ACROSS.1, UP.0 + 42.0), "end", "completion time");
    let mut inner = Markup::new();
    inner.group("g", "axis y", &axes);
    let at = |(secs, cost): (f64, f64)| (x.px(secs), y.px(cost));
    let front = table.pareto.iter().filter_map(|place| points.iter().find(|point| point.0 == *place));
    let path: String = front
        .map(|(_, _, point)| at(*point))
        .enumerate()
        .map(|(index, (x, y))| format!("{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' }))
        .collect();
    inner.path("ideal", &path);
    if let Some(secs) = deadline_secs.filter(|secs| x.holds(*secs)) {
        let mut limit = Markup::new();
        limit.line((x.px(secs), UP.0), (x.px(secs), UP.1));
        limit.label((x.px(secs) - 6.0, UP.1 + 10.0), "end", "deadline");
        inner.group("g", "deadline", &limit);
    }
    let coloured = coloured(table);
    let colour = |row: &MachineRow| coloured.iter().position(|machine| *machine == row.machine);
    // Those with a colour are drawn on top.
    let (own, others): (Vec<_>, Vec<_>) = points.iter().partition(|(_, row, _)| colour(row).is_some());
    for (place, row, point) in others.into_iter().chain(own) {
        let mut dot = Markup::new();
        dot.circle("dot", at(point), if table.best.contains(&place) { 8.0 } else { 4.5 });
        inner.group("g", &format!("line {}", shade(colour(row))), &dot);
        if table.recommended == Some(place) {
            inner.circle("ring", at(point), 12.0);
        }
    }
    let view_box = format!("0 0 {} {}", SIZE.0, SIZE.1);
    svg.holding("svg", &[("viewBox", &view_box), ("role", &"img"), ("aria-label", &describe(table))], &inner);
    svg
}

/// Describes the chart in a sentence.
fn describe(table: &MachineTable) -> String {
    let recommended = table.recommended.and_then(|place| table.rows.get(place));
    let best = recommended.and_then(|row| {
        Some(format!(
            "; recommended: {}, {}, {}",
            row.description,
            format_duration(row.secs?),
            format_money(row.cost?, &table.currency)
        ))
    });
    format!(
        "Cost by completion time: {} configurations on the Pareto front of {} machine types{}.",
        table.pareto.len(),
        table.types.len(),
        best.unwrap_or_default(),
    )
}
