//! Resource use of a run over time: one small chart per quantity, drawn as text.

use foreglow_shared::{AcceleratorMoment, MonitoredRun, ResourceUse};

use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread, tick_number};

/// Size of a small chart, in the units of its view box.
const SIZE: (f64, f64) = (360.0, 150.0);
/// First and last x of the lines, and their lowest and highest y.
const ACROSS: (f64, f64) = (52.0, 350.0);
const UP: (f64, f64) = (122.0, 12.0);
/// Limit on the points of a line; more would be less than a pixel apart.
const MOST_POINTS: usize = 300;

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Name of the quantity, with its unit.
    pub title: &'static str,
    /// Lowest upper end of its axis: 100 for a percentage.
    least_top: f64,
    /// Seconds and values; one line per GPU, otherwise a single one.
    pub lines: Vec<Vec<(f64, f64)>>,
}

/// Returns the recorded quantities of a run.
pub fn quantities(run: &MonitoredRun) -> Vec<Quantity> {
    let gpus = run.moments.iter().map(|moment| moment.accelerators.len()).max().unwrap_or(0);
    let own = |value: &dyn Fn(&ResourceUse) -> Option<f64>| vec![line(run, value)];
    let each = |value: fn(&AcceleratorMoment) -> Option<f64>| {
        let of_gpu = |gpu| line(run, &|moment: &ResourceUse| moment.accelerators.get(gpu).and_then(value));
        (0..gpus).map(of_gpu).collect()
    };
    let all = [
        ("Images per second", 0.0, own(&|moment| Some(moment.images_per_sec))),
        ("GPU use, %", 100.0, each(|gpu| gpu.use_percent.map(f64::from))),
        ("GPU memory, MiB", 0.0, each(|gpu| gpu.memory_used_mib.map(|mib| mib as f64))),
        ("Processors in use", 0.0, own(&|moment| Some(moment.processors))),
        ("Memory of the executors, MiB", 0.0, own(&|moment| moment.memory_mib.map(|mib| mib as f64))),
    ];
    let quantity = |(title, least_top, mut lines): (_, _, Vec<Vec<(f64, f64)>>)| {
        lines.retain(|line| !line.is_empty());
        Quantity { title, least_top, lines }
    };
    all.into_iter().map(quantity).filter(|quantity| !quantity.lines.is_empty()).collect()
}

/// Returns a value over time.
fn line(run: &MonitoredRun, value: &dyn Fn(&ResourceUse) -> Option<f64>) -> Vec<(f64, f64)> {
    run.moments
        .iter()
        .filter_map(|moment| Some((moment.secs, value(moment)?)))
        .filter(|(secs, value)| secs.is_finite() && value.is_finite())
        .collect()
}

/// Returns the line reduced to at most `MOST_POINTS` means of consecutive points.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.chunks(points.len().div_ceil(MOST_POINTS).max(1)).map(mean).collect()
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let of = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    (of(|point| point.0), of(|point| point.1))
}

/// Draws a quantity as an SVG element with its axes; a run of one moment is a dot.
pub fn picture(quantity: &Quantity) -> Markup {
    let points = || quantity.lines.iter().flatten();
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    let top = points().map(|point| point.1).fold(quantity.least_top, f64::max);
    let x = Scale::new(Spread::Linear, (0.0, last), ACROSS);
    let y = Scale::new(Spread::Linear, (0.0, if top > 0.0 { top } else { 1.0 }), UP);
    let mut axes = Markup::new();
    for (value, label) in y.number_ticks(3) {
        axes.line((ACROSS.0, y.px(value)), (ACROSS.1, y.px(value)));
        axes.label((ACROSS.0 - 6.0, y.px(value) + 4.0), "end", &label);
    }
    for secs in x.ticks(4) {
        axes.label((x.px(secs), UP.0 + 18.0), "middle", &format!("{} s", tick_number(secs)));
    }
    let mut inner = Markup::new();
    inner.group("g", "axis y", &axes);
    for (place, line) in quantity.lines.iter().enumerate() {
        let place_of = |(secs, value): &(f64, f64)| (x.px(*secs), y.px(*value));
        let mut one = Markup::new();
        match thinned(line).as_slice() {
            [only] => one.circle("dot", place_of(only), 3.0),
            several => {
                let path: String = several
                    .iter()
                    .map(place_of)
                    .enumerate()
                    .map(|(index, (x, y))| format!("{}{x} {y}", if index == 0 { 'M' } else { 'L' }))
                    .collect();
                one.path("", &path);
            }
        }
        // The darker shades are readable on a white page; a ninth GPU repeats the first's.
        inner.group("g", &format!("line shade-{}", 5 - place % 4), &one);
    }
    let mut svg = Markup::new();
    let view_box = format!("0 0 {} {}", SIZE.0, SIZE.1);
    svg.holding("svg", &[("viewBox", &view_box), ("role", &"img"), ("aria-label", &describe(quantity))], &inner);
    svg
}

/// Describes a quantity in a sentence: mean and maximum of each line.
pub fn describe(quantity: &Quantity) -> String {
    let rounded = |number: f64| tick_number((number * 10.0).round() / 10.0);
    let one = |line: &Vec<(f64, f64)>| {
        let highest = line.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
        format!("mean {}, maximum {}", rounded(mean(line).1), rounded(highest))
    };
    let lines: Vec<String> = quantity.lines.iter().map(one).collect();
    format!("{}: {}", quantity.title, lines.join("; "))
}

#[cfg(test)]
mod tests {
    use foreglow_shared::Uuid;

    use super::*;

    fn run(moments: usize, gpus: usize) -> MonitoredRun {
        let gpu = AcceleratorMoment { use_percent: Some(40), memory_used_mib: None };
        let moment = |index: usize| ResourceUse {
            secs: index as f64 + 1.0,
            images_per_sec: 100.0 * index as f64,
            processors: 1.5,
            memory_mib: None,
            accelerators: vec![gpu; gpus],
        };
        MonitoredRun {
            sample: Uuid::nil(),
            executors: 1,
            cores_per_executor: 1,
            sampling_rate: 1.0,
            moments: (0..moments).map(moment).collect(),
        }
    }

    #[test]
    fn a_quantity_that_was_not_recorded_has_no_chart_and_each_gpu_has_a_line() {
        let titles = |run: &MonitoredRun| quantities(run).iter().map(|one| one.title).collect::<Vec<_>>();
        assert_eq!(titles(&run(3, 0)), ["Images per second", "Processors in use"]);
        let two = quantities(&run(3, 2));
        assert_eq!(two[1].lines, vec![vec![(1.0, 40.0), (2.0, 40.0), (3.0, 40.0)]; 2]);
        let drawn = picture(&two[1]).into_text();
        assert!(drawn.contains("shade-5") && drawn.contains("shade-4") && drawn.contains(">100<"), "{drawn}");
        assert_eq!(describe(&two[0]), "Images per second: mean 100, maximum 200");
    }

    #[test]
    fn a_long_run_is_thinned_and_a_short_one_is_a_dot() {
        let long = quantities(&run(10_000, 0));
        assert_eq!(long[0].lines[0].len(), 10_000);
        assert!(picture(&long[0]).into_text().matches('L').count() < MOST_POINTS);
        assert_eq!(describe(&long[0]), "Images per second: mean 499950, maximum 999900");
        assert!(picture(&quantities(&run(1, 0))[0]).into_text().contains("<circle class=\"dot\""));
        assert!(quantities(&run(0, 0)).is_empty());
    }
}
