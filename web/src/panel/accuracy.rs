//! The accuracy of a training job and its time: a table and a picture of the measured training
//! settings.

use foreglow_model::{TrainedSetting, format_time};
use foreglow_shared::{distinct, format_percent, format_rate};
use leptos::prelude::*;

use crate::data::job::Limits;
use crate::panel::prediction::{all_digits, compared_money, cost_title};
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::shade::shade;
use crate::state::Planner;
use crate::worker::plan::view::PlanView;

/// Size of the picture, in the units of its view box.
const SIZE: (f64, f64) = (960.0, 300.0);
const ACROSS: (f64, f64) = (78.0, 920.0);
const UP: (f64, f64) = (250.0, 30.0);
/// Half the width of the ends of an error bar.
const BAR_END: f64 = 5.0;

/// The section; absent if the job's runs measured no accuracy.
#[component]
pub fn AccuracyByTime() -> impl IntoView {
    let planner = expect_context::<Planner>();
    move || {
        let plan = planner.answer.planned()?;
        if let Some(unknown) = &plan.accuracy_unknown {
            return Some(view! { <p class="says" data-testid="accuracy-unknown">{unknown.clone()}</p> }.into_any());
        }
        let first = plan.trained.first()?;
        let conditions = match plan.trained.iter().all(|row| row.accuracy.conditions == first.accuracy.conditions) {
            true => first.accuracy.conditions.clone(),
            false => "each with the best of the measured learning rates".to_owned(),
        };
        let rows = plan.trained.iter().map(|row| shown(&plan, row)).collect_view();
        let picture = picture(&plan.trained, planner.limits()).into_text();
        let keys = ways(&plan.trained).into_iter().enumerate();
        let keys = keys.map(|(place, way)| {
            view! { <span class=format!("key line {}", shade(Some(place)))>{described(way)}</span> }
        });
        let keys = keys.collect_view();
        let says = format!(
            "The mean over the seeds of runs on all images, with its 95 % interval; {conditions}. The time is that of the \
             fastest configuration."
        );
        Some(
            view! {
                <section class="card machines" aria-labelledby="accuracy-title">
                    <h2 id="accuracy-title">"Accuracy beside time"</h2>
                    <p class="says">{says}</p>
                    <div class="scroll" tabindex="0" role="region" aria-labelledby="accuracy-title">
                        <table data-testid="accuracy-table">
                            <thead>
                                <tr>
                                    <th scope="col">"Executors"</th>
                                    <th scope="col" class="number">"Averaged every"</th>
                                    <th scope="col" class="number wide">"Batch size"</th>
                                    <th scope="col" class="number">"Accuracy"</th>
                                    <th scope="col" class="number wide">"95 % interval"</th>
                                    <th scope="col" class="number wide">"Seeds"</th>
                                    <th scope="col" class="number">"Shortest time"</th>
                                    <th scope="col" class="number">{cost_title(&plan)}</th>
                                    <th scope="col" class="wide"><span class="out-of-sight">"Remark"</span></th>
                                </tr>
                            </thead>
                            <tbody>{rows}</tbody>
                        </table>
                    </div>
                    <figure class="machine-front" data-testid="accuracy-picture" inner_html=picture></figure>
                    <p class="legend">{keys}</p>
                </section>
            }
            .into_any(),
        )
    }
}

fn shown(plan: &PlanView, row: &TrainedSetting) -> impl IntoView + use<> {
    let recommended =
        plan.row(plan.recommended).zip(plan.row(plan.recommended).and_then(|best| plan.arms.get(best.arm)));
    let is_recommended = recommended.is_some_and(|(best, arm)| {
        (best.counts.executors, arm.batch_size, arm.average_every) == (row.executors, row.batch_size, row.average_every)
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
    view! {
        <tr class=class>
            <th scope="row">{row.executors}</th>
            <td class="number">{row.average_every.map_or_else(|| "unknown".to_owned(), |every| every.to_string())}</td>
            <td class="number wide">{row.batch_size}</td>
            <td class="number" data-accuracy=row.accuracy.mean.to_string()>{format_percent(row.accuracy.mean * 100.0)}</td>
            <td class="number wide">{interval}</td>
            <td class="number wide">{row.accuracy.runs}</td>
            <td class="number" data-secs=all_digits(row.secs)>
                {format_time(row.secs, row.interval.as_ref())}
            </td>
            <td class="number">{compared_money(plan, row.cost, row.secs, row.interval.as_ref())}</td>
            <td class="wide remark">{remark}</td>
        </tr>
    }
}

fn described((batch, every): (u32, Option<u32>)) -> String {
    match every {
        None => format!("batch size {batch}"),
        Some(1) => format!("batch size {batch}, averaged every mini-batch"),
        Some(every) => format!("batch size {batch}, averaged every {every} mini-batches"),
    }
}

/// The mini-batches and averaging intervals that share a colour.
fn ways(trained: &[TrainedSetting]) -> Vec<(u32, Option<u32>)> {
    distinct(trained.iter().map(way))
}

fn way(row: &TrainedSetting) -> (u32, Option<u32>) {
    (row.batch_size, row.average_every)
}

/// Draws accuracy by time, with error bars; empty without a known time.
fn picture(trained: &[TrainedSetting], limits: Limits) -> Markup {
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
        inner.group("g", &format!("line {}", shade(place)), &point);
    }
    let view_box = format!("0 0 {} {}", SIZE.0, SIZE.1);
    let describe = format!("Accuracy by completion time: {} ways to train, with error bars.", trained.len());
    svg.holding("svg", &[("viewBox", &view_box), ("role", &"img"), ("aria-label", &describe)], &inner);
    svg
}
