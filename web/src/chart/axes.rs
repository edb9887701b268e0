//! The parts that all charts share: responsive width, axes, legend and the mark of the what-if.

use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Element, ResizeObserver, ResizeObserverEntry};

use crate::data::text::counted;
use crate::plot::markup::{Attributes, Markup};
use crate::plot::scale::Scale;

/// Size of a chart and position of its axes, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width of the whole chart.
    pub width: f64,
    /// Height of the whole chart.
    pub height: f64,
}

/// Margin for the labels of the y axis, pixels.
const LEFT: f64 = 62.0;
/// Approximate width of a letter of a label, pixels.
const LETTER: f64 = 7.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 46.0;

impl Frame {
    /// First and last pixel of the x axis.
    pub fn across(self) -> (f64, f64) {
        (LEFT, (self.width - RIGHT).max(LEFT + 1.0))
    }

    /// First and last pixel of the y axis, which points upwards.
    pub fn up(self) -> (f64, f64) {
        (self.height - BOTTOM, TOP)
    }

    /// Approximate number of labels that fit on the x axis.
    pub fn labels_across(self) -> usize {
        (((self.width - LEFT - RIGHT) / 64.0) as usize).clamp(2, 12)
    }
}

type Resized = Closure<dyn Fn(Vec<ResizeObserverEntry>)>;

/// The width of an element, updated on resize. Charts are redrawn at a new width instead of being
/// scaled, because scaling would distort their text.
pub fn width_of(place: NodeRef<Div>) -> RwSignal<f64> {
    let width = RwSignal::new(0.0);
    let watched = StoredValue::new_local(None::<(ResizeObserver, Resized)>);
    Effect::new(move |_| {
        let Some(element) = place.get() else { return };
        // The observer also reports the initial width after layout; querying it here would force a
        // synchronous layout.
        let resized = Closure::<dyn Fn(Vec<ResizeObserverEntry>)>::new(move |entries: Vec<ResizeObserverEntry>| {
            if let Some(entry) = entries.first() {
                let now = entry.content_rect().width();
                // The chart may have been removed.
                if width.try_get_untracked().is_some_and(|before| (before - now).abs() > 0.5) {
                    width.set(now);
                }
            }
        });
        if let Ok(observer) = ResizeObserver::new(resized.as_ref().unchecked_ref()) {
            observer.observe(element.unchecked_ref::<Element>());
            watched.set_value(Some((observer, resized)));
        }
    });
    on_cleanup(move || {
        if let Some((observer, _)) = watched.try_update_value(Option::take).flatten() {
            observer.disconnect();
        }
    });
    width
}

/// Draws the grid lines and labels of the y axis.
pub fn y_axis(frame: Frame, scale: &Scale, ticks: Vec<(f64, String)>) -> Markup {
    let (left, right) = frame.across();
    let mut axis = Markup::new();
    for (number, label) in ticks {
        let y = scale.px(number);
        let mut tick = Markup::new();
        tick.line((left, y), (right, y));
        tick.label((left - 10.0, y + 4.0), "end", &label);
        axis.group("g", "tick", &tick);
    }
    hidden("axis y", &axis)
}

/// Draws the line, the labels and the name of the x axis.
pub fn x_axis(frame: Frame, scale: &Scale, ticks: Vec<(f64, String)>, name: &str) -> Markup {
    let (left, right) = frame.across();
    let (foot, _) = frame.up();
    let mut end = f64::NEG_INFINITY;
    let mut axis = Markup::new();
    axis.shape("line", &[("class", &"base"), ("x1", &left), ("x2", &right), ("y1", &foot), ("y2", &foot)]);
    for (number, label) in ticks {
        let x = scale.px(number);
        let half = label.chars().count() as f64 * LETTER / 2.0;
        // Skips a label that would overlap the previous one.
        if x - half <= end + LETTER {
            continue;
        }
        end = x + half;
        let mut tick = Markup::new();
        tick.line((x, foot), (x, foot + 5.0));
        tick.label((x, foot + 20.0), "middle", &label);
        axis.group("g", "tick", &tick);
    }
    let middle = (left + right) / 2.0;
    let place: Attributes =
        &[("class", &"axis-name"), ("x", &middle), ("y", &(foot + 40.0)), ("text-anchor", &"middle")];
    axis.words("text", place, name);
    hidden("axis x", &axis)
}

/// Draws the name of the y axis, above it.
pub fn y_name(name: &str) -> Markup {
    let mut words = Markup::new();
    words.words("text", &[("class", &"axis-name"), ("x", &0.0), ("y", &12.0)], name);
    hidden("axis", &words)
}

/// Hides an axis from screen readers, for which the chart has a description.
fn hidden(class: &str, axis: &Markup) -> Markup {
    let mut hidden = Markup::new();
    hidden.holding("g", &[("class", &class), ("aria-hidden", &"true")], axis);
    hidden
}

/// Text beside a mark, with an optional test id and exact value.
pub struct Beside {
    /// Position, pixels.
    pub at: (f64, f64),
    /// SVG `text-anchor`: `start` or `end`.
    pub anchor: &'static str,
    /// The text.
    pub words: String,
    /// The `data-testid` and the exact value.
    pub value: Option<(&'static str, f64)>,
}

/// Draws the mark of the what-if.
pub fn looked_at(at: (f64, f64), beside: Option<Beside>) -> Markup {
    let mut inner = Markup::new();
    inner.circle("", at, 7.0);
    match beside {
        Some(Beside { at: (x, y), anchor, words, value: Some((name, value)) }) => {
            let place: Attributes =
                &[("x", &x), ("y", &y), ("text-anchor", &anchor), ("data-testid", &name), ("data-value", &value)];
            inner.words("text", place, &words);
        }
        Some(Beside { at, anchor, words, value: None }) => inner.label(at, anchor, &words),
        None => {}
    }
    let mut mark = Markup::new();
    mark.group("g", "looked-at-mark", &inner);
    mark
}

/// The CSS class that colours the line of a count and its points: a ramp over all lines, from pale
/// for the lowest count to deep for the highest.
pub fn shade(cores: &[u32], of: u32) -> String {
    const SHADES: usize = 6;
    match cores.iter().position(|count| *count == of) {
        Some(place) if cores.len() > 1 => {
            format!("shade-{}", place.min(cores.len() - 1) * (SHADES - 1) / (cores.len() - 1).max(1))
        }
        Some(_) => "shade-3".into(),
        None => "shade-none".into(),
    }
}

/// Draws a legend from CSS classes and their labels.
pub fn keys(keys: &[(&str, &str)]) -> Markup {
    let mut items = Markup::new();
    for (class, words) in keys {
        items.words("li", &[("class", &format_args!("key {class}"))], words);
    }
    let mut list = Markup::new();
    list.group("ul", "legend", &items);
    list
}

/// Draws a legend with an entry for the line of each count, followed by `others`.
pub fn legend_of(counts: &[u32], noun: &str, others: &[(&str, &str)]) -> Markup {
    let lines: Vec<(String, String)> =
        counts.iter().map(|count| (format!("line {}", shade(counts, *count)), counted(*count, noun))).collect();
    let mut known: Vec<(&str, &str)> = lines.iter().map(|(class, words)| (class.as_str(), words.as_str())).collect();
    known.extend(others);
    keys(&known)
}

/// Formats points as the path `M x y L x y …`.
pub fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (index, (x, y)) in points.enumerate() {
        text.push_str(&format!("{}{x} {y}", if index == 0 { 'M' } else { 'L' }));
    }
    text
}
