//! What all charts share: a drawing that is as wide as its place, and its axes.

use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{Element, ResizeObserver, ResizeObserverEntry};

use crate::chart::scale::Scale;

/// Where the axes cross and end, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width of the whole drawing.
    pub width: f64,
    /// Height of the whole drawing.
    pub height: f64,
}

/// Room for the labels of the axes, pixels.
const LEFT: f64 = 62.0;
/// A letter of a label is about so wide, pixels.
const LETTER: f64 = 7.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 46.0;

impl Frame {
    /// First and last pixel of the x axis.
    pub fn across(self) -> (f64, f64) {
        (LEFT, (self.width - RIGHT).max(LEFT + 1.0))
    }

    /// First and last pixel of the y axis, which grows upwards.
    pub fn up(self) -> (f64, f64) {
        (self.height - BOTTOM, TOP)
    }

    /// About how many labels fit on the x axis.
    pub fn labels_across(self) -> usize {
        (((self.width - LEFT - RIGHT) / 64.0) as usize).clamp(2, 12)
    }
}

type Resized = Closure<dyn Fn(Vec<ResizeObserverEntry>)>;

/// The width of an element, kept current: text in a drawing that is stretched would be stretched too.
pub fn width_of(place: NodeRef<Div>) -> RwSignal<f64> {
    let width = RwSignal::new(0.0);
    let watched = StoredValue::new_local(None::<(ResizeObserver, Resized)>);
    Effect::new(move |_| {
        let Some(element) = place.get() else { return };
        width.set(f64::from(element.client_width()));
        let resized = Closure::<dyn Fn(Vec<ResizeObserverEntry>)>::new(move |entries: Vec<ResizeObserverEntry>| {
            if let Some(entry) = entries.first() {
                let now = entry.content_rect().width();
                // The page may have taken the chart away since.
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

/// Grid lines and labels of the y axis.
pub fn y_axis(frame: Frame, scale: &Scale, ticks: Vec<(f64, String)>) -> impl IntoView + use<> {
    let (left, right) = frame.across();
    let ticks: Vec<(f64, String)> = ticks.into_iter().map(|(number, label)| (scale.px(number), label)).collect();
    let marks = ticks.into_iter().map(|(y, label)| {
        view! {
            <g class="tick">
                <line x1=left x2=right y1=y y2=y />
                <text x=left - 10.0 y=y + 4.0 text-anchor="end">
                    {label}
                </text>
            </g>
        }
    });
    view! { <g class="axis y" aria-hidden="true">{marks.collect_view()}</g> }
}

/// Labels of the x axis, and its name.
pub fn x_axis(frame: Frame, scale: &Scale, ticks: Vec<(f64, String)>, name: &str) -> impl IntoView + use<> {
    let (left, right) = frame.across();
    let (foot, _) = frame.up();
    let mut end = f64::NEG_INFINITY;
    let mut has_room = |(x, label): &(f64, String)| {
        let half = label.chars().count() as f64 * LETTER / 2.0;
        let has_room = x - half > end + LETTER;
        end = if has_room { x + half } else { end };
        has_room
    };
    let ticks: Vec<(f64, String)> =
        ticks.into_iter().map(|(number, label)| (scale.px(number), label)).filter(|tick| has_room(tick)).collect();
    let marks = ticks.into_iter().map(|(x, label)| {
        view! {
            <g class="tick">
                <line x1=x x2=x y1=foot y2=foot + 5.0 />
                <text x=x y=foot + 20.0 text-anchor="middle">
                    {label}
                </text>
            </g>
        }
    });
    let name = name.to_owned();
    view! {
        <g class="axis x" aria-hidden="true">
            <line class="base" x1=left x2=right y1=foot y2=foot />
            {marks.collect_view()}
            <text class="axis-name" x=(left + right) / 2.0 y=foot + 40.0 text-anchor="middle">
                {name}
            </text>
        </g>
    }
}

/// The class that colours a line and its points: the ramp is spread over the lines, few cores pale, many deep.
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

/// `M x y L x y …`.
pub fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (index, (x, y)) in points.enumerate() {
        text.push_str(&format!("{}{x} {y}", if index == 0 { 'M' } else { 'L' }));
    }
    text
}
