//! Values that several charts share, computed once.

use std::sync::Arc;

use leptos::prelude::*;

use crate::chart::about::in_short;
use crate::plot::grid::{Grid, Rates};
use crate::state::Planner;

/// The shared grid of predictions and the rates to price it.
#[derive(Clone, Copy)]
pub struct Overview {
    /// Predicted times over the configuration space; `None` without a predictor.
    pub grid: Memo<Option<Arc<Grid>>>,
    /// Rates to price a configuration.
    pub rates: Memo<Rates>,
    /// A short description of the what-if.
    pub in_short: Memo<Option<String>>,
}

impl Overview {
    /// Derives the values from the page's state.
    pub fn new(planner: Planner) -> Self {
        let accelerators = Memo::new(move |_| planner.accelerators());
        Self {
            grid: Memo::new(move |_| {
                let fitted = planner.fitted()?;
                Some(Arc::new(planner.space.with(|space| Grid::of(&fitted.predictor, space))))
            }),
            rates: Memo::new(move |_| {
                let (accelerated, shared_accelerators) = accelerators.get();
                Rates {
                    prices: planner.prices.get(),
                    memory_per_executor_mib: planner.space.with(|space| space.memory_per_executor_mib),
                    accelerated,
                    shared_accelerators,
                }
            }),
            in_short: Memo::new(move |_| in_short(planner)),
        }
    }
}
