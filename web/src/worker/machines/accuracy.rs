//! The accuracy of a training job and its time: a table and a picture of the measured training
//! settings. The worker writes them, like the comparison of machine types.

use foreglow_model::{Limits, TrainedSetting};
use foreglow_shared::{format_duration, format_money, format_percent, format_rate};

use super::{MachineTable, front};
use crate::data::text::escaped;
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};

/// Size of the picture, in the units of its view box.
const SIZE: (f64, f64) = (960.0, 300.0);
const ACROSS: (f64, f64) = (78.0, 920.0);
const UP: (f64, f64) = (250.0, 30.0);
/// Half the width of the ends of an error bar.
const BAR_END: f64 = 5.0;

/// Writes the section; empty if the job's runs measured no accuracy.
pub fn section(table: &MachineTable, limits: &Limits) -> String {
    if let Some(unknown) = &table.accuracy_unknown {
        return format!("<p class=\"says\" data-testid=\"accuracy-unknown\">{}.</p>", escaped(unknown));
    }
    let Some(first) = table.trained.first() else { return String::new() };
    let conditions = match table.trained.iter().all(|row| row.accuracy.conditions == first.accuracy.conditions) {
        true => escaped(&first.accuracy.conditions),
        false => "each with the best of the measured learning rates".to_owned(),
    };
    let picture = picture(&table.trained, limits).into_text();
    format!(
        "<h3 id=\"accuracy-title\">Accuracy beside time</h3><p class=\"says\">The mean over the seeds of runs on all images, \
         with its 95 % interval; {conditions}. The time is that of the fastest configuration.</p>{}<figure \
         class=\"machine-front\" data-testid=\"accuracy-picture\">{picture}</figure><p class=\"legend\">{}</p>",
        rows(table),
        keys(&table.trained)
    )
}

fn rows(table: &MachineTable) -> String {
    let recommended = table.recommended.and_then(|place| table.rows.get(place));
    let row = |row: &TrainedSetting| {
        let is_recommended = recommended.is_some_and(|best| {
            (best.executors, best.batch_size, best.average_every) == (row.executors, row.batch_size, row.average_every)
        });
        let (class, remark) = match (row.is_accurate, is_recommended) {
            (false, _) => ("late", "too inaccurate"),
            (true, true) => ("recommended-row", "recommended"),
            (true, false) => ("", ""),
        };
        let interval = match row.accuracy.lower.zip(row.accuracy.upper) {
            Some((lower, upper)) => format!("{:.2}–{}", lower * 100.0, format_percent(upper * 100.0)),
            None => "unknown".to_owned(),
        };
        format!(
            "<tr class=\"{class}\"><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number wide\">{}</td><td \
             class=\"number\" data-accuracy=\"{}\">{}</td><td class=\"number wide\">{interval}</td><td class=\"number \
             wide\">{}</td><td class=\"number\" data-secs=\"{}\">{}</td><td class=\"number\">{}</td><td class=\"wide \
             remark\">{remark}</td></tr>",
            row.executors,
            row.average_every.map_or_else(|| "unknown".to_owned(), |every| every.to_string()),
            row.batch_size,
            row.accuracy.mean,
            format_percent(row.accuracy.mean * 100.0),
            row.accuracy.runs,
            row.secs.unwrap_or_default(),
            row.secs.map_or_else(|| "unknown".to_owned(), format_duration),
            row.cost.map_or_else(|| "unknown".to_owned(), |cost| escaped(&format_money(cost, &table.currency))),
        )
    };
    let rows: String = table.trained.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"accuracy-title\"><table \
         data-testid=\"accuracy-table\"><thead><tr><th scope=\"col\">Executors</th><th scope=\"col\" class=\"number\">Averaged every</th><th scope=\"col\" class=\"number wide\">Batch size</th><th scope=\"col\" \
         class=\"number\">Accuracy</th><th scope=\"col\" class=\"number wide\">95 % interval</th><th scope=\"col\" class=\"number \
         wide\">Seeds</th><th scope=\"col\" class=\"number\">Shortest time</th><th scope=\"col\" class=\"number\">Cost</th><th \
         scope=\"col\" class=\"wide\"><span class=\"out-of-sight\">Remark</span></th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// The mini-batches and averaging intervals that share a colour.
fn ways(trained: &[TrainedSetting]) -> Vec<(u32, Option<u32>)> {
    let mut ways: Vec<(u32, Option<u32>)> = trained.iter().map(way).collect();
    ways.sort();
    ways.dedup();
    ways
}

fn way(row: &TrainedSetting) -> (u32, Option<u32>) {
    (row.batch_size, row.average_every)
}

fn keys(trained: &[TrainedSetting]) -> String {
    let key = |(place, (batch, every)): (usize, (u32, Option<u32>))| {
        let every = match every {
            None => String::new(),
            Some(1) => ", averaged every mini-batch".to_owned(),
            Some(every) => format!(", averaged every {every} mini-batches"),
        };
        format!("<span class=\"key line {}\">batch size {batch}{every}</span>", front::shade(Some(place)))
    };
    ways(trained).into_iter().enumerate().map(key).collect()
}

/// Draws accuracy by time, with error bars; empty without a known time.
fn picture(trained: &[TrainedSetting], limits: &Limits) -> Markup {
    let points: Vec<(&TrainedSetting, f64)> = trained.iter().filter_map(|row| Some((row, row.secs?))).collect();
    let mut svg = Markup::new();
    if points.is_empty() {
        return svg;
    }
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high): (f64, f64), x| (low.min(x), high.max(x)))
    };
    let (least, most) = range(&mut points.iter().map(|(_, secs)| *secs).chain(limits.deadline_secs));
    let x = Scale::new(Spread::Log, (least / 1.2, most * 1.2), ACROSS);
    let ends = |row: &TrainedSetting| {
        let accuracy = &row.accuracy;
        (accuracy.lower.unwrap_or(accuracy.mean) * 100.0, accuracy.upper.unwrap_or(accuracy.mean) * 100.0)
    };
    let minimum = limits.min_accuracy.map(|least| least * 100.0);
    let (least, most) = range(&mut points.iter().flat_map(|(row, _)| <[f64; 2]>::from(ends(row))).chain(minimum));
    let margin = 0.06 * (most - least).max(0.01);
    let y = Scale::new(Spread::Linear, (least - margin, (most + margin).min(100.0)), UP);
    let mut axes = Markup::new();
    for (value, label) in y.number_ticks(5) {
        axes.line((ACROSS.0, y.px(value)), (ACROSS.1, y.px(value)));
        axes.label((ACROSS.0 - 8.0, y.px(value) + 4.0), "end", &label);
    }
    axes.label((8.0, 14.0), "start", "accuracy, %");
    for (secs, label) in x.labelled_times(9) {
        axes.label((x.px(secs), UP.0 + 20.0), "middle", &label);
    }
    axes.label((ACROSS.1, UP.0 + 42.0), "end", "completion time");
    let mut inner = Markup::new();
    inner.group("g", "axis y", &axes);
    let mut limit_lines = Markup::new();
    if let Some(secs) = limits.deadline_secs {
        limit_lines.line((x.px(secs), UP.0), (x.px(secs), UP.1));
        limit_lines.label((x.px(secs) - 6.0, UP.1 - 4.0), "end", "deadline");
    }
    if let Some(least) = minimum {
        limit_lines.line((ACROSS.0, y.px(least)), (ACROSS.1, y.px(least)));
        limit_lines.label((ACROSS.1, y.px(least) - 6.0), "end", &format!("minimum {}", format_rate(least / 100.0)));
    }
    inner.group("g", "deadline", &limit_lines);
    let ways = ways(trained);
    for (row, secs) in points {
        let place = ways.iter().position(|known| *known == way(row));
        let (left, (low, high)) = (x.px(secs), ends(row));
        let mut point = Markup::new();
        if high > low {
            let (bottom, top, start, width) = (y.px(low), y.px(high), left - BAR_END, 2.0 * BAR_END);
            let bar = format!("M{left} {bottom}V{top}M{start:.2} {top}h{width}M{start:.2} {bottom}h{width}");
            point.path("interval", &bar);
        }
        let middle = y.px(row.accuracy.mean * 100.0);
        point.circle("dot", (left, middle), 6.0);
        // Longer intervals are faster, and their labels are on the other side.
        let (side, anchor) = if place == Some(0) { (10.0, "start") } else { (-10.0, "end") };
        let executors =
            if row.executors == 1 { "1 executor".to_owned() } else { format!("{} executors", row.executors) };
        point.label((left + side, middle + 4.0), anchor, &executors);
        inner.group("g", &format!("line {}", front::shade(place)), &point);
    }
    let view_box = format!("0 0 {} {}", SIZE.0, SIZE.1);
    let describe = format!("Accuracy by completion time: {} ways to train, with error bars.", trained.len());
    svg.holding("svg", &[("viewBox", &view_box), ("role", &"img"), ("aria-label", &describe)], &inner);
    svg
}
