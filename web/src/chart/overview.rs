//! What several pictures show of the same answer, worked out once.

use std::sync::Arc;

use leptos::prelude::*;

use crate::chart::about::in_short;
use crate::chart::grid::{Grid, Rates};
use crate::state::Planner;

/// The grid under the pictures, and what it costs.
#[derive(Clone, Copy)]
pub struct Overview {
    /// Times over the range that is chosen from; `None` while there is no predictor.
    pub grid: Memo<Option<Arc<Grid>>>,
    /// What a configuration costs.
    pub rates: Memo<Rates>,
    /// The what-if in a few words.
    pub in_short: Memo<Option<String>>,
}

impl Overview {
    /// Follows the page.
    pub fn new(planner: Planner) -> Self {
        let accelerated = Memo::new(move |_| {
            let selected = planner.selected.get();
            planner.jobs.with(|jobs| jobs.get(selected).is_some_and(|job| job.context.accelerator.is_some()))
        });
        Self {
            grid: Memo::new(move |_| {
                let fitted = planner.fitted()?;
                Some(Arc::new(planner.space.with(|space| Grid::of(&fitted.predictor, space))))
            }),
            rates: Memo::new(move |_| Rates {
                prices: planner.prices.get(),
                memory_per_executor_mib: planner.space.with(|space| space.memory_per_executor_mib),
                accelerated: accelerated.get(),
            }),
            in_short: Memo::new(move |_| in_short(planner)),
        }
    }
}
