//! The choice among machine types, and their prices.

use foreglow_shared::Devices;
use leptos::prelude::*;

use crate::data::view::price;
use crate::state::Planner;
use crate::worker::plan::view::TypePrice;

const PRICE_MISTAKE: &str = "Write a price above 0, such as 0.04. The price is unchanged.";
const DEVICES: [(Devices, &str, &str); 3] =
    [(Devices::All, "devices-all", "All"), (Devices::Cpu, "devices-cpu", "CPU"), (Devices::Gpu, "devices-gpu", "GPU")];

/// Machine types, devices and prices; absent with a single machine type that is not rented as a
/// whole.
#[component]
pub fn MachineTypes() -> impl IntoView {
    let planner = expect_context::<Planner>();
    // The list stays when no machine type is left.
    let types = Memo::new(move |before: Option<&Vec<TypePrice>>| match planner.answer.plan.get() {
        Some(Ok(plan)) => plan.types.clone(),
        Some(Err(_)) => before.cloned().unwrap_or_default(),
        None => Vec::new(),
    });
    let is_shown =
        Memo::new(move |_| types.with(|types| types.len() > 1 || types.iter().any(|one| one.hourly_price.is_some())));
    // Changed only by another list of names, because a new row would lose the focus.
    let names = Memo::new(move |_| types.with(|types| types.iter().map(|one| one.machine.clone()).collect::<Vec<_>>()));
    let mistake = RwSignal::new(false);
    let set_price = move |text: String, set: Box<dyn Fn(Option<f64>)>| {
        let price = price(text.trim());
        let is_valid = price.is_some() || text.trim().is_empty();
        mistake.set(!is_valid);
        if is_valid {
            set(price);
        }
    };
    let button = move |(devices, test, label): (Devices, &'static str, &'static str)| {
        view! {
            <button
                type="button"
                data-testid=test
                aria-pressed=move || planner.machine_choice.with(|choice| choice.devices == devices).to_string()
                on:click=move |_| planner.machine_choice.update(|choice| choice.devices = devices)
            >
                {label}
            </button>
        }
    };
    let currency = move || planner.answer.planned().map(|plan| plan.currency.clone());
    let omitted = move || {
        let omitted = planner.answer.planned().map(|plan| plan.omitted.clone()).unwrap_or_default();
        let items = omitted.iter().map(|left| view! { <li>{left.clone()} "."</li> }).collect_view();
        (!omitted.is_empty()).then(|| view! { <ul class="warnings">{items}</ul> })
    };
    let list = move || {
        let row = |machine: String| {
            view! { <MachineType machine types set_price=Callback::new(move |(text, machine): (String, String)| {
                set_price(text, Box::new(move |price| {
                    let machine = machine.clone();
                    planner.machine_choice.update(|choice| {
                        choice.prices.retain(|(name, _)| *name != machine);
                        choice.prices.extend(price.map(|price| (machine, price)));
                    });
                }));
            }) /> }
        };
        names.get().into_iter().map(row).collect_view()
    };
    let body = move || {
        view! {
            <section class="card machines" aria-labelledby="machines-title" data-testid="machines">
                <h2 id="machines-title">"Machine types"</h2>
                {(!planner.is_unmeasured()).then(|| view! {
                    <div class="switch" role="group" aria-label="Devices">
                        {DEVICES.map(button).into_iter().collect_view()}
                    </div>
                })}
                {omitted}
                <details class="more">
                    <summary data-testid="machine-choice">
                        <span class="edit">"Machine types and their prices"</span>
                    </summary>
                    <div class="picks">
                        <label>
                            "At most an hour for all machines, " {currency} " "
                            <input
                                type="text"
                                inputmode="decimal"
                                size="7"
                                placeholder="any"
                                data-testid="hourly"
                                prop:value=move || planner.machine_choice.with(|choice| {
                                    choice.max_hourly_cost.map(|most| most.to_string()).unwrap_or_default()
                                })
                                on:change=move |event| set_price(event_target_value(&event), Box::new(move |price| {
                                    planner.machine_choice.update(|choice| choice.max_hourly_cost = price);
                                }))
                            />
                        </label>
                        <label>
                            <input
                                type="checkbox"
                                data-testid="spot"
                                prop:checked=move || planner.machine_choice.with(|choice| choice.spot)
                                on:change=move |event| {
                                    planner.machine_choice.update(|choice| choice.spot = event_target_checked(&event));
                                }
                            />
                            " Spot prices"
                        </label>
                    </div>
                    <p class="note">
                        "The provider may take spot machines back at any time; the plan assumes that it does not."
                    </p>
                    <ul class="machine-list">{list}</ul>
                </details>
                <p class="note wrong" role="status">{move || mistake.get().then_some(PRICE_MISTAKE)}</p>
            </section>
        }
    };
    move || is_shown.get().then(body)
}

/// A machine type with its price.
#[component]
fn MachineType(
    /// Its name.
    machine: String,
    /// All machine types.
    types: Memo<Vec<TypePrice>>,
    /// Sets a price, written as text, of a machine type.
    set_price: Callback<(String, String)>,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let own = {
        let machine = machine.clone();
        Memo::new(move |_| types.with(|types| types.iter().find(|one| one.machine == machine).cloned()))
    };
    let (kept, excluded, priced) = (machine.clone(), machine.clone(), machine.clone());
    let is_accelerated = own.with_untracked(|own| own.as_ref().is_some_and(|own| own.is_accelerated));
    let has_price = own.with_untracked(|own| own.as_ref().is_some_and(|own| own.hourly_price.is_some()));
    let price = move || own.with(|own| own.as_ref()?.hourly_price).map(|price| price.to_string()).unwrap_or_default();
    let currency = move || planner.answer.planned().map(|plan| format!("{} an hour", plan.currency));
    let exclude = move |event| {
        planner.machine_choice.update(|choice| {
            choice.without.retain(|name| *name != excluded);
            if !event_target_checked(&event) {
                choice.without.push(excluded.clone());
            }
        });
    };
    view! {
        <li>
            <label>
                <input
                    type="checkbox"
                    data-machine=machine.clone()
                    prop:checked=move || planner.machine_choice.with(|choice| !choice.without.contains(&kept))
                    on:change=exclude
                />
                " " {machine.clone()} {is_accelerated.then_some(" (GPU)")}
            </label>
            {match has_price {
                true => view! {
                    <input
                        type="text"
                        inputmode="decimal"
                        aria-label=format!("{machine}: price per hour")
                        data-price-of=machine
                        prop:value=price
                        on:change=move |event| set_price.run((event_target_value(&event), priced.clone()))
                    />
                    <span class="hush">{currency}</span>
                }.into_any(),
                false => view! { <span class="hush">"not in the catalog of prices"</span> }.into_any(),
            }}
        </li>
    }
}
