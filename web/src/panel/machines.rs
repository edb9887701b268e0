//! The machine types side by side: the best configuration of each, the Pareto front, what is
//! compared, and its prices.

use foreglow_shared::{format_duration, format_money, format_probability, number};
use leptos::prelude::*;

use crate::chart::machine_front;
use crate::machines::{Devices, MachineRow, MachineTable};
use crate::panel::prediction::capitalised;
use crate::state::{Machines, Planner};

/// The table of machine types; absent unless the job was measured on several.
#[component]
pub fn MachineTypes() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let several = Memo::new(move |_| planner.has_machine_types());
    view! {
        <Show when=move || several.get()>
            <section class="card machines" aria-labelledby="machines-title" data-testid="machines">
                <div class="chart-head">
                    <h2 id="machines-title">"Machine types"</h2>
                    <DeviceSwitch />
                </div>
                {move || match planner.machines.get() {
                    Machines::None | Machines::Running => {
                        view! { <p class="hush" role="status">"Comparing the machine types…"</p> }.into_any()
                    }
                    Machines::Failed(reason) => {
                        view! { <p class="reason" role="alert">{capitalised(&reason)}</p> }.into_any()
                    }
                    Machines::Ready(table) => body(&table).into_any(),
                }}
                <Choice />
            </section>
        </Show>
    }
}

/// CPUs, GPUs or both.
#[component]
fn DeviceSwitch() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let buttons = [(Devices::All, "All"), (Devices::Cpu, "CPU"), (Devices::Gpu, "GPU")].map(|(devices, label)| {
        view! {
            <button
                type="button"
                data-testid=format!("devices-{}", label.to_ascii_lowercase())
                aria-pressed=move || planner.machine_choice.with(|choice| choice.devices == devices).to_string()
                on:click=move |_| planner.machine_choice.update(|choice| choice.devices = devices)
            >
                {label}
            </button>
        }
    });
    view! { <div class="switch" role="group" aria-label="Devices">{buttons.into_iter().collect_view()}</div> }
}

fn body(table: &MachineTable) -> impl IntoView + use<> {
    let rows = table.best.iter().filter_map(|place| Some((*place, table.rows.get(*place)?)));
    let rows = rows.map(|(place, row)| shown(table, row, table.recommended == Some(place))).collect_view();
    let omitted = table.omitted.iter().map(|left| view! { <li>{capitalised(left)}</li> }).collect_view();
    let has_omitted = !table.omitted.is_empty();
    let picture = table.picture.clone();
    let keys = machine_front::names(table);
    let keys = keys.into_iter().enumerate().map(|(place, name)| {
        view! { <span class=format!("key line {}", machine_front::shade(place))>{name}</span> }
    });
    view! {
        <p class="says">
            {format!(
                "The best of each machine type, of {} configurations: the cheapest that meets the limits. Whole machines are \
                 billed by the second, with the provider's minimum.",
                table.weighed,
            )}
        </p>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="machines-title">
            <table data-testid="machine-table">
                <thead>
                    <tr>
                        <th scope="col">"Machines"</th>
                        <th scope="col" class="number">"Completion time"</th>
                        <th scope="col" class="number wide">"90 % interval"</th>
                        <th scope="col" class="number">"Money"</th>
                        <th scope="col" class="number wide">"Chance"</th>
                        <th scope="col" class="wide"></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        <figure class="machine-front" inner_html=picture></figure>
        <p class="legend">{keys.collect_view()}</p>
        {has_omitted.then(|| view! { <ul class="warnings">{omitted}</ul> })}
    }
}

fn shown(table: &MachineTable, row: &MachineRow, is_recommended: bool) -> impl IntoView + use<> {
    let time = row.secs.map_or_else(|| "unknown".into(), format_duration);
    let interval = row.interval_secs.map_or_else(
        || "unknown".into(),
        |(lower, upper)| format!("{} – {}", format_duration(lower), format_duration(upper)),
    );
    let chance = row.success_probability.map(format_probability);
    let remark = match (is_recommended, row.is_feasible, row.is_borrowed) {
        (true, _, false) => "recommended",
        (true, _, true) => "recommended; from few runs and other machines",
        (false, false, _) => "misses the limits",
        (false, true, true) => "from few runs and other machines",
        (false, true, false) => "",
    };
    view! {
        <tr class:recommended-row=is_recommended class:late=!row.is_feasible data-machine=row.machine.clone()>
            <th scope="row">{row.description.clone()}</th>
            <td class="number" data-secs=row.secs.map(|secs| secs.to_string())>{time}</td>
            <td class="number wide">{interval}</td>
            <td class="number" data-cost=row.cost.map(|cost| cost.to_string())>{money(table, row)}</td>
            <td class="number wide">{chance}</td>
            <td class="wide remark">{remark}</td>
        </tr>
    }
}

fn money(table: &MachineTable, row: &MachineRow) -> String {
    row.cost.map_or_else(|| "unknown".into(), |cost| format_money(cost, &table.currency))
}

/// Which machine types are compared, and their prices per hour.
#[component]
fn Choice() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(false);
    // The list stays while the table is computed again.
    let types = Memo::new(move |before: Option<&Vec<_>>| match planner.machines.get() {
        Machines::Ready(table) => table.types.clone(),
        _ => before.cloned().unwrap_or_default(),
    });
    let row = move |kind: crate::machines::TypePrice| {
        let name = StoredValue::new(kind.machine.clone());
        let is_in = move || planner.machine_choice.with(|choice| !choice.without.contains(&name.get_value()));
        let switch = move |event| {
            let is_in = event_target_checked(&event);
            planner.machine_choice.update(|choice| {
                choice.without.retain(|machine| *machine != name.get_value());
                if !is_in {
                    choice.without.push(name.get_value());
                }
            });
        };
        let set_price = move |event| {
            let price = number(event_target_value(&event).trim()).filter(|price| *price > 0.0 && price.is_finite());
            mistake.set(price.is_none());
            if let Some(price) = price {
                planner.machine_choice.update(|choice| {
                    choice.prices.retain(|(machine, _)| *machine != name.get_value());
                    choice.prices.push((name.get_value(), price));
                });
            }
        };
        view! {
            <li>
                <label>
                    <input type="checkbox" data-machine=kind.machine.clone() prop:checked=is_in on:change=switch />
                    " "
                    {kind.machine.clone()}
                    {kind.is_accelerated.then_some(" (GPU)")}
                </label>
                {match kind.hourly_price {
                    Some(price) => view! {
                        <input
                            type="text"
                            inputmode="decimal"
                            aria-label=format!("{}: price per hour", kind.machine)
                            data-price-of=kind.machine
                            prop:value=price.to_string()
                            on:change=set_price
                        />
                        <span class="hush">"an hour"</span>
                    }.into_any(),
                    None => view! { <span class="hush">"priced by cores and memory, or not at all"</span> }.into_any(),
                }}
            </li>
        }
    };
    view! {
        <details class="more">
            <summary data-testid="machine-choice">
                <span class="edit">"Machine types and their prices"</span>
            </summary>
            <ul class="machine-list">{move || types.get().into_iter().map(row).collect_view()}</ul>
            <p class="note wrong" role="status">
                {move || mistake.get().then_some("Write a price above 0, such as 0.04. The price is unchanged.")}
            </p>
        </details>
    }
}

/// The recommendation over all machine types, at the top of the answer.
#[component]
pub fn RecommendedMachines() -> impl IntoView {
    let planner = expect_context::<Planner>();
    move || {
        let table = planner.shown_machines()?;
        let Some(row) = table.recommended.and_then(|place| table.rows.get(place)) else {
            let fastest = table.fastest.and_then(|place| table.rows.get(place))?;
            let time = fastest.secs.map_or_else(|| "unknown".into(), format_duration);
            return Some(
                view! {
                    <p class="best-machines" data-testid="recommended-machines">
                        {format!("No machine type meets the limits. The fastest is {}: {time}.", fastest.description)}
                    </p>
                }
                .into_any(),
            );
        };
        let time = row.secs.map_or_else(|| "unknown".into(), format_duration);
        let chance = row.success_probability.map(|chance| format!(", chance {}", format_probability(chance)));
        Some(
            view! {
                <p class="best-machines">
                    <strong data-testid="recommended-machines">{row.description.clone()}</strong>
                    <span data-testid="recommended-machines-time" data-secs=row.secs.map(|secs| secs.to_string())>
                        {format!("{time}, {}{}", money(&table, row), chance.unwrap_or_default())}
                    </span>
                    <span class="hush">"The best of all machine types. Below, the machine type of the selected runs."</span>
                </p>
            }
            .into_any(),
        )
    }
}
