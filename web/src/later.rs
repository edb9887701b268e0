//! What is put on the page piece by piece.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use leptos::prelude::*;

thread_local! {
    /// The pieces that wait, in the order of the page.
    static WAITING: RefCell<VecDeque<RwSignal<bool>>> = const { RefCell::new(VecDeque::new()) };
}

/// Puts its children on the page after what comes before it, one piece a frame: the page answers to a hand between them, where
/// it would not while all of it is put together at once.
#[component]
pub fn Later(children: ChildrenFn) -> impl IntoView {
    let due = RwSignal::new(false);
    let is_first = WAITING.with_borrow_mut(|waiting| {
        waiting.push_back(due);
        waiting.len() == 1
    });
    if is_first {
        after_the_frame();
    }
    view! { <Show when=move || due.get()>{children()}</Show> }
}

/// Puts the next piece on the page once the browser has painted what is there.
fn after_the_frame() {
    request_animation_frame(|| {
        set_timeout(
            || {
                let (piece, is_last) = WAITING.with_borrow_mut(|waiting| (waiting.pop_front(), waiting.is_empty()));
                // The page may have taken the place away since.
                if let Some(due) = piece {
                    due.try_set(true);
                }
                if !is_last {
                    after_the_frame();
                }
            },
            Duration::ZERO,
        );
    });
}
