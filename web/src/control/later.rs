//! A queue that builds the page piece by piece.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use leptos::prelude::*;

/// Work budget of one frame, milliseconds; pieces run one after the other until it is spent. Until
/// the page is interactive, they do not wait for frames.
const FRAME_MS: f64 = 8.0;

type Piece = Box<dyn FnOnce()>;

thread_local! {
    /// The queued pieces, in page order.
    static WAITING: RefCell<VecDeque<Piece>> = const { RefCell::new(VecDeque::new()) };
    /// Whether the page is interactive.
    static IS_INTERACTIVE: Cell<bool> = const { Cell::new(false) };
    /// When the first piece of this frame began.
    static BEGAN: Cell<f64> = const { Cell::new(0.0) };
}

/// Queues work for a separate task, so that the page can handle input in between.
pub fn later(piece: impl FnOnce() + 'static) {
    let is_first = WAITING.with_borrow_mut(|waiting| {
        waiting.push_back(Box::new(piece));
        waiting.len() == 1
    });
    if is_first {
        in_a_task(begin);
    }
}

/// Queues work for the task after the current piece, before all other pieces.
pub fn next(piece: impl FnOnce() + 'static) {
    later(piece);
    WAITING.with_borrow_mut(|waiting| {
        // The current piece keeps the first place.
        if let Some(piece) = waiting.pop_back() {
            waiting.insert(waiting.len().min(1), piece);
        }
    });
}

/// Mounts its children in a separate queued task.
#[component]
pub fn Later(children: ChildrenFn) -> impl IntoView {
    let due = RwSignal::new(false);
    // The signal may be disposed of by then.
    later(move || {
        due.try_set(true);
    });
    view! { <Show when=move || due.get()>{children()}</Show> }
}

/// Tells the queue that the page accepts input: from now on, its pieces leave time for frames.
pub fn leave_time_for_frames() {
    IS_INTERACTIVE.set(true);
}

fn in_a_task(work: fn()) {
    set_timeout(work, Duration::ZERO);
}

fn now_ms() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

fn begin() {
    BEGAN.set(now_ms());
    work();
}

/// Runs the next piece. It stays in the queue while it runs, so that pieces it queues do not start
/// a second chain of tasks.
fn work() {
    let piece =
        WAITING.with_borrow_mut(|waiting| waiting.front_mut().map(|piece| std::mem::replace(piece, Box::new(|| {}))));
    if let Some(piece) = piece {
        piece();
    }
    // Layout and paint of a piece happen after its task, so the next task measures the elapsed
    // time.
    in_a_task(|| {
        let is_last = WAITING.with_borrow_mut(|waiting| {
            waiting.pop_front();
            waiting.is_empty()
        });
        let is_spent = IS_INTERACTIVE.get() && now_ms() - BEGAN.get() >= FRAME_MS;
        match is_spent {
            _ if is_last => {}
            false => work(),
            true => request_animation_frame(|| in_a_task(begin)),
        }
    });
}
