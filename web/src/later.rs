//! What is put on the page piece by piece.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use leptos::prelude::*;

/// A frame is worked in for so long, milliseconds: a piece that needs less is followed by the next one.
const FRAME_MS: f64 = 8.0;

type Piece = Box<dyn FnOnce()>;

thread_local! {
    /// The pieces that wait, in the order of the page.
    static WAITING: RefCell<VecDeque<Piece>> = const { RefCell::new(VecDeque::new()) };
    /// When the first piece of this frame began.
    static BEGAN: Cell<f64> = const { Cell::new(0.0) };
}

/// Does something after what waits already, in a task of its own: the page answers to a hand between two of them, where it would
/// not while everything is done at once.
pub fn later(piece: impl FnOnce() + 'static) {
    let is_first = WAITING.with_borrow_mut(|waiting| {
        waiting.push_back(Box::new(piece));
        waiting.len() == 1
    });
    if is_first {
        in_a_task(begin);
    }
}

/// Puts its children on the page after what comes before it, in a task of its own.
#[component]
pub fn Later(children: ChildrenFn) -> impl IntoView {
    let due = RwSignal::new(false);
    // The page may have taken the place away by then.
    later(move || {
        due.try_set(true);
    });
    view! { <Show when=move || due.get()>{children()}</Show> }
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

/// Does the next piece. It stays in the queue meanwhile, so that one that comes up does not begin beside those that wait.
fn work() {
    let piece =
        WAITING.with_borrow_mut(|waiting| waiting.front_mut().map(|piece| std::mem::replace(piece, Box::new(|| {}))));
    if let Some(piece) = piece {
        piece();
    }
    // What a piece puts on the page is there once its task has ended: it is timed by the next one.
    in_a_task(|| {
        let is_last = WAITING.with_borrow_mut(|waiting| {
            waiting.pop_front();
            waiting.is_empty()
        });
        match now_ms() - BEGAN.get() < FRAME_MS {
            _ if is_last => {}
            true => work(),
            false => request_animation_frame(|| in_a_task(begin)),
        }
    });
}
