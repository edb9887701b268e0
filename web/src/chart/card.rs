//! The card around every chart: its title, the readout of the selected mark, the switches of its
//! axes, and its exports.

use std::any::Any;
use std::sync::Arc;

use leptos::ev;
use leptos::html::Div;
use leptos::prelude::*;
use web_sys::{Element, KeyboardEvent, MouseEvent};

use crate::chart::about::{About, Mark, in_short};
use crate::chart::axes::{Frame, width_of};
use crate::chart::export::standalone;
use crate::control::{PinButton, WhyButton, download};
use crate::plot::markup::Markup;
use crate::plot::sheet::Sheet;
use crate::state::Planner;

/// Minimum width of a chart: below it labels would overlap, and the page scrolls instead.
const LEAST_WIDTH_PX: f64 = 240.0;
/// Maximum distance at which the pointer selects a mark.
const REACH_PX: f64 = 60.0;

/// A chart that has been laid out.
pub trait Drawing: Comparable + Send + Sync {
    /// The part that depends neither on the what-if nor on the limits; drawn once.
    fn picture(&self) -> Markup;

    /// The part that depends on the deadline and the budget; reactive.
    fn limits(&self, _planner: Planner) -> Option<Markup> {
        None
    }

    /// The part that depends on the what-if; reactive.
    fn moving(&self, planner: Planner) -> Option<Markup>;

    /// The selectable points, sorted from left to right.
    fn marks(&self) -> Vec<Mark>;

    /// The data of the chart as a table.
    fn sheet(&self) -> Sheet;

    /// A one-sentence description for screen readers.
    fn describe(&self) -> String;

    /// The legend.
    fn legend(&self) -> Markup {
        Markup::new()
    }
}

/// Equality with a value of any type.
pub trait Comparable: Any {
    /// Whether the other value has the same type and is equal.
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + 'static> Comparable for T {
    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

impl PartialEq for dyn Drawing {
    fn eq(&self, other: &Self) -> bool {
        self.is_equal(other as &dyn Any)
    }
}

/// The chart in a card, if there is one. It is type-erased, so that the card is compiled only once.
pub type Drawn = Memo<Option<Arc<dyn Drawing>>>;

/// Memoises a chart, so that it is redrawn only when it changes.
pub fn drawn<D: Drawing>(draw: impl Fn() -> Option<D> + Send + Sync + 'static) -> Drawn {
    Memo::new(move |_| draw().map(|drawing| Arc::new(drawing) as Arc<dyn Drawing>))
}

/// The texts and switches of a card.
pub struct Card {
    /// Prefix of the card's element ids, test ids and file names.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// One or two sentences on what the chart shows.
    pub says: Signal<String>,
    /// Switches for the axes and the quantity shown.
    pub switches: AnyView,
}

/// The element that holds a chart, and its size.
#[derive(Clone, Copy)]
pub struct ChartContainer {
    node: NodeRef<Div>,
    width: RwSignal<f64>,
    height: f64,
}

impl ChartContainer {
    /// A place of this height, pixels.
    pub fn new(height: f64) -> Self {
        let node = NodeRef::new();
        Self { node, width: width_of(node), height }
    }

    /// The size of the chart, once the browser has laid it out; reactive.
    pub fn frame(self) -> Option<Frame> {
        let width = self.width.get();
        (width > 0.0).then(|| Frame { width: width.max(LEAST_WIDTH_PX), height: self.height })
    }

    fn point(self, event: &MouseEvent) -> Option<(f64, f64)> {
        let rect = self.node.get_untracked()?.get_bounding_client_rect();
        Some((f64::from(event.client_x()) - rect.left(), f64::from(event.client_y()) - rect.top()))
    }
}

/// Draws a chart in its card.
pub fn card(card: Card, place: ChartContainer, drawing: Drawn) -> AnyView {
    let planner = expect_context::<Planner>();
    let Card { id, title, says, switches, .. } = card;
    let pointed = RwSignal::new(None::<About>);
    let focused = RwSignal::new(false);
    let at = move |event: &MouseEvent| {
        let point = place.point(event)?;
        drawing.with_untracked(|drawing| nearest(&drawing.as_ref()?.marks(), point))
    };
    let point = move |event: ev::PointerEvent| {
        let near = at(&event).map(|mark| mark.about);
        if near != pointed.get_untracked() {
            pointed.set(near);
        }
    };
    let take = move |about: About| {
        if let Some(selection) = untrack(|| about.taken(planner)) {
            planner.look_at(selection);
        }
    };
    let press = move |event: KeyboardEvent| {
        let key = event.key();
        let marks =
            drawing.with_untracked(|drawing| drawing.as_ref().map(|drawing| drawing.marks()).unwrap_or_default());
        match (key.as_str(), pointed.get_untracked()) {
            ("Escape", _) => pointed.set(None),
            ("Enter" | " ", Some(about)) => take(about),
            (key, from) => match step(&marks, from, planner, key) {
                Some(about) => pointed.set(Some(about)),
                None => return,
            },
        }
        event.prevent_default();
    };
    let readout = move || match pointed.get() {
        Some(about) => about.words(planner),
        None => in_short(planner),
    };
    let asked = Signal::derive(move || {
        let pointed = pointed.get().and_then(|about| about.taken(planner));
        pointed.unwrap_or_else(|| planner.selection())
    });
    let ring = part(drawing, move |drawing| {
        let mut ring = Markup::new();
        ring.circle("ring", place_of(&drawing.marks(), pointed.get()?)?, 9.0);
        Some(ring)
    });
    let picture = part(drawing, |drawing| Some(drawing.picture()));
    let limits = part(drawing, move |drawing| drawing.limits(planner));
    let moving = part(drawing, move |drawing| drawing.moving(planner));
    let legend = part(drawing, |drawing| Some(drawing.legend()));
    let save_svg = move |_| {
        let svg = place.node.get_untracked().and_then(|node| node.query_selector("svg").ok().flatten());
        if let Some(text) = svg.and_then(|svg: Element| standalone(&svg, title)) {
            download(&format!("foreglow-{id}.svg"), "image/svg+xml", &text);
        }
    };
    let save_csv = move |_| {
        if let Some(sheet) = drawing.with_untracked(|drawing| drawing.as_ref().map(|drawing| drawing.sheet())) {
            download(&format!("foreglow-{id}.csv"), "text/csv", &sheet.to_csv());
        }
    };
    let (title_id, readout_id) = (format!("{id}-title"), format!("{id}-readout"));
    let (titled_by, described_by, readout_test_id) = (title_id.clone(), readout_id.clone(), readout_id.clone());
    let export =
        move |kind: &'static str| (format!("{id}-{kind}"), format!("{title}: save as {}", kind.to_ascii_uppercase()));
    let ((svg_id, svg_label), (csv_id, csv_label)) = (export("svg"), export("csv"));
    let what_it_is = move || {
        let sentence = drawing.with(|drawing| drawing.as_ref().map(|drawing| drawing.describe())).unwrap_or_default();
        format!("{sentence} The CSV file has the data.")
    };
    view! {
        <section class="card chart" aria-labelledby=titled_by>
            <div class="chart-head">
                <h2 id=title_id>{title}</h2>
                <div class="chart-tools">{switches}</div>
            </div>
            <p class="says">{move || says.get()}</p>
            <div
                class="drawing"
                style:height=format!("{}px", place.height)
                node_ref=place.node
                data-testid=id
                tabindex="0"
                role="group"
                aria-label=format!("{title}: arrow keys move between the marks, Enter selects one")
                aria-describedby=described_by
                on:keydown=press
                on:focus=move |_| focused.set(true)
                on:blur=move |_| {
                    focused.set(false);
                    pointed.set(None);
                }
            >
                <svg
                    role="img"
                    aria-label=what_it_is
                    width=move || place.frame().map_or(0.0, |frame| frame.width)
                    height=place.height
                    viewBox=move || format!("0 0 {} {}", place.frame().map_or(1.0, |frame| frame.width), place.height)
                    on:pointermove=point
                    on:pointerleave=move |_| pointed.set(None)
                    on:click=move |event: MouseEvent| {
                        if let Some(mark) = at(&event) {
                            take(mark.about);
                        }
                    }
                >
                    <g inner_html=picture></g>
                    <g inner_html=limits></g>
                    <g class="moving" inner_html=moving></g>
                    <g inner_html=ring></g>
                </svg>
            </div>
            <div class="chart-foot">
                <p class="readout" data-testid=readout_test_id>
                    // Announced only for the focused chart; otherwise screen readers would announce
                    // every chart at every slider step.
                    <span id=readout_id aria-live=move || if focused.get() { "polite" } else { "off" }>{readout}</span>
                    " "
                    <WhyButton configuration=asked />
                    <PinButton configuration=asked />
                </p>
                <div class="exports">
                    <button type="button" class="tool" data-testid=svg_id aria-label=svg_label on:click=save_svg>"SVG"</button>
                    <button type="button" class="tool" data-testid=csv_id aria-label=csv_label on:click=save_csv>"CSV"</button>
                </div>
            </div>
            <div class="keys-of" inner_html=legend></div>
        </section>
    }
    .into_any()
}

/// Returns a closure that draws one part of a chart as text, empty if the part is missing. All
/// parts share one type, so that the card is compiled only once.
fn part(drawing: Drawn, draw: impl Fn(&dyn Drawing) -> Option<Markup> + Send + Sync + 'static) -> Part {
    Box::new(move || {
        let part = drawing.with(|drawing| draw(drawing.as_deref()?));
        part.unwrap_or_default().into_text()
    })
}

type Part = Box<dyn Fn() -> String + Send + Sync>;

fn nearest(marks: &[Mark], (x, y): (f64, f64)) -> Option<Mark> {
    let away = |mark: &Mark| (mark.at.0 - x).hypot(mark.at.1 - y);
    let near = marks.iter().min_by(|a, b| away(a).total_cmp(&away(b)))?;
    (away(near) < REACH_PX).then_some(*near)
}

fn place_of(marks: &[Mark], about: About) -> Option<(f64, f64)> {
    marks.iter().find(|mark| mark.about == about).map(|mark| mark.at)
}

/// The next mark in the direction of an arrow key. The first step selects the what-if.
fn step(marks: &[Mark], from: Option<About>, planner: Planner, key: &str) -> Option<About> {
    let (first, last) = (marks.first()?, marks.last()?);
    let (right, down) = match key {
        "Home" => return Some(first.about),
        "End" => return Some(last.about),
        "ArrowRight" => (1.0, 0.0),
        "ArrowLeft" => (-1.0, 0.0),
        "ArrowUp" => (0.0, -1.0),
        "ArrowDown" => (0.0, 1.0),
        _ => return None,
    };
    let Some((x, y)) = from.and_then(|about| place_of(marks, about)) else {
        let own = About::Configuration(planner.what_if.get_untracked());
        return Some(place_of(marks, own).map_or(first.about, |_| own));
    };
    // Distance across the direction has double weight, so that the keys follow lines as users
    // expect.
    let cost = |mark: &&Mark| {
        let (dx, dy) = (mark.at.0 - x, mark.at.1 - y);
        let (along, across) = (dx * right + dy * down, (dx * down).abs() + (dy * right).abs());
        (along > 0.1).then_some(along + 2.0 * across)
    };
    let next = marks.iter().filter_map(|mark| Some((cost(&mark)?, mark))).min_by(|a, b| a.0.total_cmp(&b.0));
    next.map(|(_, mark)| mark.about).or(from)
}
