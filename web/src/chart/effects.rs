//! The effect of each feature alone: the level-1 curves and their measured points, whose product
//! gives a time.

use foreglow_model::{Effects, Feature, Setting};
use foreglow_shared::{WhatIf, format_duration, format_rate};
use leptos::prelude::*;

use crate::chart::about::{About, Mark, from_left, value_in_words};
use crate::chart::axes::{Beside, Frame, looked_at, path, x_axis, y_axis, y_name};
use crate::chart::card::{Card, ChartContainer, Drawing, card, drawn};
use crate::chart::switch::{log_switch, spread};
use crate::control::Later;
use crate::data::switch::Switch;
use crate::data::text::capitalised;
use crate::plot::counts::thinned;
use crate::plot::markup::Markup;
use crate::plot::scale::{Scale, Spread};
use crate::plot::sheet::{Sheet, digits};
use crate::state::Planner;

const HEIGHT_PX: f64 = 220.0;
const TICKS: usize = 4;
/// Number of points of a curve over counts, and over sampling rates.
const COUNTS: usize = 40;
const STEPS: u32 = 32;

#[derive(Clone, Debug, PartialEq)]
struct Alone {
    feature: Feature,
    points: Vec<(f64, f64)>,
    curve: Vec<(f64, f64)>,
    frame: Frame,
    x: Scale,
    y: Scale,
}

/// The curves side by side, with a sentence on their product.
#[component]
pub fn EffectsCharts() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let effects = Memo::new(move |_| planner.published().map(|published| published.effects.clone()));
    let product = move || {
        effects.with(|effects| {
            let effects = effects.as_ref()?.as_ref().ok()?;
            Some(in_words(planner, effects))
        })
    };
    let reason = move || {
        effects.with(|effects| {
            let reason = effects.as_ref()?.as_ref().err()?;
            Some(view! { <p class="says">{format!("There are no level-1 curves: {}", capitalised(reason))}</p> })
        })
    };
    view! {
        <section class="effects" aria-labelledby="effects-title">
            <h2 id="effects-title">"Effect of each resource"</h2>
            <p class="says" data-testid="effects-product">{product}</p>
            {reason}
            <div class="triple">
                <Later>{alone(Feature::InverseExecutors, "effect-executors", "Executors")}</Later>
                <Later>{alone(Feature::InverseCores, "effect-cores", "Cores")}</Later>
                <Later>{alone(Feature::SamplingRate, "effect-rate", "Share of the job")}</Later>
            </div>
        </section>
    }
}

fn alone(feature: Feature, id: &'static str, title: &'static str) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let place = ChartContainer::new(HEIGHT_PX);
    let spread = spread(match feature {
        Feature::InverseExecutors => Switch::EffectExecutors,
        Feature::InverseCores => Switch::EffectCores,
        Feature::SamplingRate => Switch::EffectRate,
    });
    let drawing = drawn(move || {
        let published = planner.published()?;
        let counts = planner.answer.charts.with(|charts| {
            let grid = &charts.as_ref()?.grid;
            Some(match feature {
                Feature::InverseExecutors => grid.executors.clone(),
                Feature::InverseCores => grid.cores.clone(),
                Feature::SamplingRate => Vec::new(),
            })
        })?;
        Alone::of(published.effects.as_ref().ok()?, feature, &counts, spread.get(), place.frame()?)
    });
    let frame = Card {
        id,
        title,
        says: Signal::derive(move || {
            drawing.with(|drawing| match drawing {
                _ if planner.published().is_none() => "Evaluating the published scenarios…".into(),
                Some(_) => "Scaled time: relative to the longest of the runs that differ in this only.".into(),
                None => "It never varied alone in the runs, so its own effect is unknown.".into(),
            })
        }),
        switches: log_switch("axes", spread),
    };
    card(frame, place, drawing)
}

/// Formats the level-1 factor of each feature at the what-if, and the time that follows from their
/// product: `×0.66 for 4 cores · …`.
fn in_words(planner: Planner, effects: &Effects) -> String {
    let WhatIf { executors, cores_per_executor } = planner.what_if.get();
    let setting = Setting::even(executors, cores_per_executor, 1.0);
    let factor = |effect: &foreglow_model::Effect| {
        let value = effect.feature.value(setting);
        let factor = effects.at(effect.feature, value)?;
        Some((factor, format!("×{factor:.3} for {}", value_in_words(effect.feature, value))))
    };
    let factors: Vec<(f64, String)> = effects.effects.iter().filter_map(factor).collect();
    let product: f64 = factors.iter().map(|(factor, _)| factor).product();
    let words: Vec<String> = factors.into_iter().map(|(_, words)| words).collect();
    let published = effects.secs(setting).map_or_else(|| "no time".into(), format_duration);
    let own = planner.answer.looked_at().and_then(|row| row.secs);
    let own = own.map(|secs| format!("; Foreglow's own predictor gives {}", format_duration(secs))).unwrap_or_default();
    format!(
        "The published scenario 4-2: {} = ×{product:.3}, from which its level 2 predicts {published}{own}.",
        words.join(" · ")
    )
}

impl Alone {
    fn of(effects: &Effects, feature: Feature, counts: &[u32], spread: Spread, frame: Frame) -> Option<Self> {
        let effect = effects.effects.iter().find(|effect| effect.feature == feature)?;
        let measured = || effect.points.iter().map(|point| point.0);
        let least = measured().fold(f64::INFINITY, f64::min);
        let values: Vec<f64> = if feature == Feature::SamplingRate {
            (0..=STEPS).map(|step| libm::pow(least, 1.0 - f64::from(step) / f64::from(STEPS))).collect()
        } else {
            let most = measured().fold(1.0, f64::max) as u32;
            let last = counts.last().copied().unwrap_or(1).max(most);
            thinned(&(1..=last).collect::<Vec<u32>>(), COUNTS).into_iter().map(f64::from).collect()
        };
        let curve: Vec<(f64, f64)> =
            values.iter().filter_map(|value| Some((*value, effects.at(feature, *value)?))).collect();
        let scaled = || effect.points.iter().chain(&curve).map(|point| point.1).filter(|scaled| *scaled > 0.0);
        let (low, high) = (scaled().fold(f64::INFINITY, f64::min), scaled().fold(0.0, f64::max));
        let foot = if spread == Spread::Log { low / 1.1 } else { 0.0 };
        let (left, right) = frame.across();
        let first = values.first().copied().unwrap_or(1.0);
        let last = values.last().copied().unwrap_or(1.0);
        Some(Self {
            feature,
            points: effect.points.clone(),
            curve,
            frame,
            x: Scale::new(spread, (first, last), (left + 10.0, right - 10.0)),
            y: Scale::new(spread, (foot, high * 1.1), frame.up()),
        })
    }

    fn px(&self, (value, scaled): (f64, f64)) -> (f64, f64) {
        let (foot, top) = self.frame.up();
        let y = if scaled > 0.0 { self.y.px(scaled).clamp(top, foot) } else { foot };
        (self.x.px(value), y)
    }
}

impl Drawing for Alone {
    fn picture(&self) -> Markup {
        let labels = match self.feature {
            Feature::SamplingRate => self
                .x
                .ticks(self.frame.labels_across().min(4))
                .into_iter()
                .map(|rate| (rate, format_rate(rate)))
                .collect(),
            _ => self.x.count_ticks(self.frame.labels_across().min(6)),
        };
        let name = match self.feature {
            Feature::InverseExecutors => "executors",
            Feature::InverseCores => "cores per executor",
            Feature::SamplingRate => "share of the images",
        };
        let scaled = self.y.number_ticks(TICKS).into_iter().map(|(tick, label)| (tick, format!("×{label}"))).collect();
        let mut picture = y_axis(self.frame, &self.y, scaled);
        picture.add(&y_name("scaled time"));
        picture.add(&x_axis(self.frame, &self.x, labels, name));
        picture.path("effect-line", &path(self.curve.iter().map(|point| self.px(*point))));
        for point in &self.points {
            let (cx, cy) = self.px(*point);
            picture.shape(
                "circle",
                &[("class", &"run scaled"), ("cx", &cx), ("cy", &cy), ("r", &4.0), ("data-testid", &"scaled-point")],
            );
        }
        picture
    }

    fn moving(&self, planner: Planner) -> Option<Markup> {
        let published = planner.published()?;
        let effects = published.effects.as_ref().ok()?;
        let WhatIf { executors, cores_per_executor } = planner.what_if.get();
        let value = self.feature.value(Setting::even(executors, cores_per_executor, 1.0));
        let scaled = effects.at(self.feature, value)?;
        let (cx, cy) = self.px((value, scaled));
        let anchor = if cx > self.frame.width / 2.0 { "end" } else { "start" };
        let x = if anchor == "end" { cx - 12.0 } else { cx + 12.0 };
        let at = (x, (cy - 10.0).max(14.0));
        let beside = Beside { at, anchor, words: format!("×{scaled:.2}"), value: Some(("factor", scaled)) };
        Some(looked_at((cx, cy), Some(beside)))
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |(value, scaled): (f64, f64), measured: bool| Mark {
            at: self.px((value, scaled)),
            about: About::Effect { feature: self.feature, value, scaled, measured },
        };
        let curve = self.curve.iter().map(|point| mark(*point, false));
        from_left(self.points.iter().map(|point| mark(*point, true)).chain(curve).collect())
    }

    fn sheet(&self) -> Sheet {
        let name = match self.feature {
            Feature::InverseExecutors => "executors",
            Feature::InverseCores => "cores_per_executor",
            Feature::SamplingRate => "sampling_rate",
        };
        let row = |kind: &str, point: &(f64, f64)| vec![kind.to_owned(), digits(Some(point.0)), digits(Some(point.1))];
        let measured = self.points.iter().map(|point| row("measured", point));
        Sheet::new(&["kind", name, "scaled_time"], measured.chain(self.curve.iter().map(|point| row("level_1", point))))
    }

    fn describe(&self) -> String {
        format!(
            "Scaled time by {}: {} measured points and the curve of level 1.",
            self.feature.noun(),
            self.points.len()
        )
    }
}
