//! The machine types side by side. The worker writes the HTML; the page handles its controls.

use foreglow_shared::Devices;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlInputElement};

use crate::control::refocus;
use crate::data::machine_choice::MachinePick;
use crate::data::text::capitalised;
use crate::data::view::price;
use crate::state::{Machines, Planner};

const PRICE_MISTAKE: &str = "Write a price above 0, such as 0.04. The price is unchanged.";
const MEMORY_MISTAKE: &str = "Write a whole number of MiB, such as 2048, or nothing. The memory is unchanged.";

/// The table of machine types and the what-if over them; absent unless the job was measured with
/// several machine types, batch sizes or partition sizes.
#[component]
pub fn MachineTypes() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(None::<&'static str>);
    let operated = StoredValue::new(None::<String>);
    let html = Memo::new(move |_| match planner.machines.get() {
        Machines::None => None,
        Machines::Running => Some("<p role=\"status\">Comparing the machine types…</p>".to_owned()),
        Machines::Failed(reason) => Some(capitalised(&reason).replace('<', "&lt;")),
        Machines::Ready(shown) => Some(shown.compared.body.clone()),
    });
    let picked = Memo::new(move |_| match planner.machines.get() {
        Machines::Ready(shown) => shown.picked.to_string(),
        _ => String::new(),
    });
    Effect::new(move |_| {
        picked.track();
        html.track();
        if let Some(selector) = operated.try_update_value(Option::take).flatten() {
            refocus(&selector);
        }
    });
    let changed = move |event: Event| {
        operated.set_value(target(&event).as_ref().and_then(selector));
        if let Some(name) = target(&event).and_then(|element| element.get_attribute("data-pick")) {
            let is_valid = pick(planner, &name, &event_target_value(&event));
            mistake.set((!is_valid).then_some(MEMORY_MISTAKE));
        } else if let Some(input) = target(&event).and_then(|element| element.dyn_into::<HtmlInputElement>().ok()) {
            mistake.set((!change(planner, &input)).then_some(PRICE_MISTAKE));
        }
    };
    let shows_all = RwSignal::new(false);
    let clicked = move |event: web_sys::MouseEvent| {
        if target(&event).is_some_and(|element| matches!(element.closest("[data-more]"), Ok(Some(_)))) {
            shows_all.update(|all| *all = !*all);
        }
        let devices = target(&event).and_then(|element| element.get_attribute("data-devices"));
        let devices = match devices.as_deref() {
            Some("all") => Devices::All,
            Some("cpu") => Devices::Cpu,
            Some("gpu") => Devices::Gpu,
            _ => return,
        };
        operated.set_value(target(&event).as_ref().and_then(selector));
        planner.machine_choice.update(|choice| choice.devices = devices);
    };
    view! {
        <section
            class="card machines"
            class:all=shows_all
            aria-labelledby="machines-title"
            data-testid="machines"
            hidden=move || html.with(Option::is_none)
            on:change=changed
            on:click=clicked
        >
            <h2 id="machines-title">"Machine types and settings"</h2>
            <div class="machines" inner_html=move || html.get().unwrap_or_default()></div>
            <div class="machines" inner_html=picked></div>
            <p class="note wrong" role="status">
                {mistake}
            </p>
        </section>
    }
}

/// Returns the selector of a control, for [`refocus`] to find its successor.
fn selector(control: &Element) -> Option<String> {
    ["data-pick", "data-machine", "data-price-of", "data-devices", "data-hourly", "data-spot"].into_iter().find_map(
        |name| {
            let value = control.get_attribute(name)?.replace('\\', "\\\\").replace('\'', "\\'");
            Some(format!("{}[{name}='{value}']", control.tag_name()))
        },
    )
}

fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// Applies a change of the what-if. Returns whether it is valid.
fn pick(planner: Planner, name: &str, value: &str) -> bool {
    let value = value.trim();
    let number = value.parse::<u32>().ok().filter(|number| *number > 0);
    let change: fn(&mut MachinePick, &str, Option<u32>) = match name {
        "machine" => |pick, value, _| pick.machine = Some(value.to_owned()),
        "batch" => |pick, _, number| pick.batch_size = number,
        "partition" => |pick, _, number| pick.partition_size = number,
        _ if number.is_none() && !value.is_empty() => return false,
        _ => |pick, _, number| pick.memory_per_executor_mib = number,
    };
    planner.machine_choice.update(|choice| change(&mut choice.pick, value, number));
    true
}

/// Applies the change of a checkbox or a price. Returns whether it is valid.
fn change(planner: Planner, input: &HtmlInputElement) -> bool {
    let text = input.value();
    let price = price(text.trim());
    if input.has_attribute("data-spot") {
        planner.machine_choice.update(|choice| choice.spot = input.checked());
    } else if input.has_attribute("data-hourly") {
        let is_valid = price.is_some() || text.trim().is_empty();
        if is_valid {
            planner.machine_choice.update(|choice| choice.max_hourly_cost = price);
        }
        return is_valid;
    } else if let Some(machine) = input.get_attribute("data-price-of") {
        // Without a price of the user's, that of the catalog applies.
        let is_valid = price.is_some() || text.trim().is_empty();
        if is_valid {
            planner.machine_choice.update(|choice| {
                choice.prices.retain(|(name, _)| *name != machine);
                choice.prices.extend(price.map(|price| (machine, price)));
            });
        }
        return is_valid;
    } else if let Some(machine) = input.get_attribute("data-machine") {
        planner.machine_choice.update(|choice| {
            choice.without.retain(|name| *name != machine);
            if !input.checked() {
                choice.without.push(machine);
            }
        });
    }
    true
}

/// The recommendation over all machine types, at the top of the answer.
#[component]
pub fn RecommendedMachines() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let html = Memo::new(move |_| match planner.machines.get() {
        Machines::Ready(shown) => shown.compared.recommended.clone(),
        _ => String::new(),
    });
    view! { <p class="best-machines" hidden=move || html.with(String::is_empty) inner_html=html></p> }
}
