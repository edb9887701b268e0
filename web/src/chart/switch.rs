//! The buttons that choose the quantity or the axes of a chart. They are stateless: they read and
//! write the planner's switches, which the address contains.

use leptos::prelude::*;

use crate::data::switch::{LOG, Switch};
use crate::plot::scale::Spread;
use crate::state::Planner;

/// A switch and the value that it selects.
#[derive(Clone, Copy)]
pub struct Chosen<T: 'static> {
    switch: Switch,
    option: Memo<usize>,
    values: &'static [T],
}

impl<T: Copy> Chosen<T> {
    /// The value; reactive.
    pub fn get(self) -> T {
        self.values[self.option.get()]
    }
}

/// Returns the selected one of these values, which are in the order of the switch's options.
pub fn chosen<T>(switch: Switch, values: &'static [T]) -> Chosen<T> {
    debug_assert_eq!(switch.options().len(), values.len(), "{switch:?} has one value per option");
    let switches = expect_context::<Planner>().switches;
    // A memo, so that other switches cause no redraw.
    Chosen { switch, option: Memo::new(move |_| switches.with(|switches| switches.get(switch))), values }
}

/// Returns the spread of an axis.
pub fn spread(switch: Switch) -> Chosen<Spread> {
    let is_log = switch.options().first() == Some(&LOG);
    chosen(switch, if is_log { &[Spread::Log, Spread::Linear] } else { &[Spread::Linear, Spread::Log] })
}

/// A group of buttons to choose one of a few options.
pub fn switch<T>(label: &'static str, Chosen { switch, option, .. }: Chosen<T>) -> AnyView {
    buttons(label, switch, option)
}

/// As [`switch`]; not generic, so that it is compiled only once.
fn buttons(label: &'static str, switch: Switch, option: Memo<usize>) -> AnyView {
    let switches = expect_context::<Planner>().switches;
    let button = |(place, name): (usize, &&'static str)| {
        view! {
            <button
                type="button"
                aria-pressed=move || (option.get() == place).to_string()
                on:click=move |_| switches.update(|switches| switches.set(switch, place))
            >
                {*name}
            </button>
        }
    };
    view! {
        <div class="switch" role="group" aria-label=label>
            {switch.options().iter().enumerate().map(button).collect_view()}
        </div>
    }
    .into_any()
}

/// A toggle between a linear and a logarithmic axis.
pub fn log_switch(axis: &'static str, spread: Chosen<Spread>) -> AnyView {
    let switches = expect_context::<Planner>().switches;
    let turn = move |_| switches.update(|switches| switches.set(spread.switch, 1 - switches.get(spread.switch)));
    view! {
        <button
            type="button"
            class="tool"
            aria-pressed=move || (spread.get() == Spread::Log).to_string()
            aria-label=format!("log {axis}: logarithmic axis of {axis}")
            on:click=turn
        >
            {format!("log {axis}")}
        </button>
    }
    .into_any()
}
