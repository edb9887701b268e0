//! The what-if: a configuration that the user selects, with its prediction.

use foreglow_shared::WhatIf;
use leptos::prelude::*;

use crate::control::WhyButton;
use crate::data::job::{Space, counts_up_to, highest, measured_up_to, most_counts};
use crate::data::machine_choice::MachinePick;
use crate::data::text::change;
use crate::panel::prediction::{PENDING, all_digits, interval_text, money_of, time_of, warnings};
use crate::state::Planner;
use crate::worker::plan::view::{PlanView, Row, WhatIfView};

const MEMORY_MISTAKE: &str = "Write a whole number of MiB, such as 2048, or nothing. The memory is unchanged.";

/// The sliders and the prediction that follows them. It opens at the recommended configuration.
#[component]
pub fn WhatIfPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let view = planner.answer.what_if;
    let row = Memo::new(move |_| planner.answer.looked_at());
    let of_row = move |text: fn(&Row) -> String| row.with(|row| row.as_ref().map(text));
    let pending = move || if view.with(Option::is_some) { "unknown" } else { PENDING }.to_owned();
    let currency = Memo::new(move |_| planner.answer.planned().map(|plan| plan.currency.clone()).unwrap_or_default());
    let measured = Memo::new(move |_| planner.job().map_or((1, 1), |job| measured_up_to(&job)));
    let compares = Memo::new(move |_| planner.answer.planned().is_some_and(|plan| plan.compares()));
    let money = move || row.with(|row| row.as_ref().map(|row| money_of(row, &currency.get())));
    let name =
        move || compares.get().then(|| of_row(|row| format!("{}, {} MiB each", row.name, row.memory_per_executor_mib)));
    view! {
        <section class="card what-if" aria-labelledby="what-if-title">
            <h2 id="what-if-title">"What if"</h2>
            <div class="sliders">
                <Slider
                    label="Executors"
                    testid="what-if-executors"
                    counts=|space| &mut space.executors
                    looked_at=|what_if| &mut what_if.executors
                    measured=Signal::derive(move || measured.get().0)
                />
                <Slider
                    label="Cores per executor"
                    testid="what-if-cores"
                    counts=|space| &mut space.cores_per_executor
                    looked_at=|what_if| &mut what_if.cores_per_executor
                    measured=Signal::derive(move || measured.get().1)
                />
            </div>
            <Picks />
            <dl class="figures">
                <div>
                    <dt>"Completion time"</dt>
                    <dd
                        class="figure"
                        data-testid="what-if-time"
                        data-secs=move || row.with(|row| all_digits(row.as_ref()?.secs))
                    >
                        {move || of_row(time_of).unwrap_or_else(pending)}
                    </dd>
                    <dd class="beside">{move || of_row(|row| interval_text(row.interval.as_ref()))}</dd>
                </div>
                <div>
                    <dt>"Cost"</dt>
                    <dd
                        class="figure"
                        data-testid="what-if-cost"
                        data-cost=move || row.with(|row| all_digits(row.as_ref()?.cost))
                    >
                        {move || money().unwrap_or_else(pending)}
                    </dd>
                    <dd class="beside">{move || compared(planner)}</dd>
                </div>
            </dl>
            <p class="beside what-if-name" role="status" data-testid="what-if-name">{move || view.with(|view| refusal(view.as_deref())).or_else(|| name().flatten())}</p>
            <p class="verdict">{move || view.with(|view| verdict(view.as_deref()?))}</p>
            {move || view.with(|view| view.as_ref().map(|view| warnings(&view.warnings)))}
            <p class="acts">
                <WhyButton configuration=Signal::derive(move || planner.selection()) />
            </p>
        </section>
    }
}

/// Why the configuration cannot run, or has no answer.
fn refusal(view: Option<&WhatIfView>) -> Option<String> {
    let view = view?;
    let reason = match &view.outcome {
        Ok(row) => row.exclusion.as_ref()?,
        Err(reason) => reason,
    };
    Some(format!("{}: {reason}.", view.selection.pick.machine.as_deref().unwrap_or("The configuration")))
}

/// Whether the chosen configuration meets the deadline; nothing about the recommended one.
fn verdict(view: &WhatIfView) -> Option<impl IntoView + use<>> {
    let verdict = view.verdict.clone()?;
    let class = if verdict.is_met { "meets" } else { "misses" };
    Some(view! { <span class=class>{verdict.text}</span> })
}

/// The difference to the recommended configuration, in percent.
fn compared(planner: Planner) -> Option<String> {
    let plan = planner.answer.planned()?;
    let recommended = plan.row(plan.recommended)?;
    let row = planner.answer.looked_at()?;
    let identity = |row: &Row| (row.arm, row.counts, row.memory_per_executor_mib);
    if identity(&row) == identity(recommended) {
        return Some("the recommended configuration".into());
    }
    let time = change(row.secs? / recommended.secs?, "time");
    let Some((cost, least)) = row.cost.zip(recommended.cost) else {
        return Some(format!("{time} vs. the recommended one"));
    };
    let money = change(cost / least, "money");
    Some(format!("{time} and {money} vs. the recommended one"))
}

/// Machine type, batch and partition size, and memory; absent unless there are several.
#[component]
fn Picks() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let plan = Memo::new(move |_| planner.answer.planned());
    let of_plan = move |of: fn(&PlanView) -> Vec<String>| {
        Memo::new(move |_| plan.with(|plan| plan.as_deref().map(of).unwrap_or_default()))
    };
    let texts = |sizes: Vec<u32>| sizes.into_iter().map(|size| size.to_string()).collect::<Vec<_>>();
    let machines = of_plan(|plan| plan.types.iter().map(|one| one.machine.clone()).collect());
    let unmeasured = of_plan(|plan| plan.unmeasured.clone());
    let batches =
        Memo::new(move |_| plan.with(|plan| plan.as_ref().map(|plan| texts(plan.batch_sizes())).unwrap_or_default()));
    let partitions = Memo::new(move |_| {
        plan.with(|plan| plan.as_ref().map(|plan| texts(plan.partition_sizes())).unwrap_or_default())
    });
    let none = Memo::new(|_| Vec::new());
    let compares = Memo::new(move |_| plan.with(|plan| plan.as_ref().is_some_and(|plan| plan.compares())));
    let mistake = RwSignal::new(false);
    let memory = move |event| {
        let text = event_target_value(&event);
        let mib = text.trim().parse::<u32>().ok().filter(|mib| *mib > 0);
        mistake.set(mib.is_none() && !text.trim().is_empty());
        if !mistake.get_untracked() {
            planner.machine_choice.update(|choice| choice.pick.memory_per_executor_mib = mib);
        }
    };
    let body = move || {
        view! {
            <div class="picks">
                <Pick label="Machine type" name="machine" options=machines others=unmeasured chosen=|pick| pick.machine.clone() set=|pick, value| {
                    pick.machine = Some(value);
                } />
                <Pick label="Batch size" name="batch" options=batches others=none chosen=|pick| Some(pick.batch_size?.to_string()) set=|pick, value| {
                    pick.batch_size = value.parse().ok();
                } />
                <Pick label="Partition size" name="partition" options=partitions others=none chosen=|pick| Some(pick.partition_size?.to_string()) set=|pick, value| {
                    pick.partition_size = value.parse().ok();
                } />
                <label>
                    "Memory per executor, MiB "
                    <input
                        type="text"
                        inputmode="numeric"
                        size="7"
                        data-pick="memory"
                        placeholder="as needed"
                        prop:value=move || planner.machine_choice.with(|choice| {
                            choice.pick.memory_per_executor_mib.map(|mib| mib.to_string()).unwrap_or_default()
                        })
                        on:change=memory
                    />
                </label>
                <p class="note wrong" role="status">{move || mistake.get().then_some(MEMORY_MISTAKE)}</p>
            </div>
        }
    };
    move || compares.get().then(body)
}

/// A list to select from; absent with a single entry.
#[component]
fn Pick(
    label: &'static str,
    name: &'static str,
    /// What was measured.
    options: Memo<Vec<String>>,
    /// What was not measured.
    others: Memo<Vec<String>>,
    /// The selected entry.
    chosen: fn(&MachinePick) -> Option<String>,
    set: fn(&mut MachinePick, String),
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let value = Memo::new(move |_| {
        let own = planner.machine_choice.with(|choice| chosen(&choice.pick));
        own.or_else(|| planner.answer.what_if.with(|view| chosen(&view.as_ref()?.selection.pick)))
    });
    let list = move |options: Vec<String>| {
        let option = |option: String| {
            let (name, own) = (option.clone(), option.clone());
            view! { <option value=name prop:selected=move || value.get().as_ref() == Some(&own)>{option}</option> }
        };
        options.into_iter().map(option).collect_view()
    };
    let select = move || {
        let others = others.get();
        view! {
            <label>
                {label} " "
                <select
                    data-pick=name
                    on:change=move |event| {
                        let value = event_target_value(&event);
                        planner.machine_choice.update(|choice| set(&mut choice.pick, value));
                    }
                >
                    {match others.is_empty() {
                        true => list(options.get()).into_any(),
                        false => view! {
                            <optgroup label="Measured">{list(options.get())}</optgroup>
                            <optgroup label="Not measured">{list(others)}</optgroup>
                        }.into_any(),
                    }}
                </select>
            </label>
        }
    };
    move || (options.with(Vec::len) + others.with(Vec::len) > 1).then(select)
}

/// A slider for one count, with an input for the end of its range, which may exceed the measured
/// range.
#[component]
fn Slider(
    label: &'static str,
    testid: &'static str,
    counts: fn(&mut Space) -> &mut Vec<u32>,
    looked_at: fn(&mut WhatIf) -> &mut u32,
    #[prop(into)] measured: Signal<u32>,
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let value = Memo::new(move |_| *looked_at(&mut planner.what_if.get()));
    let end = Memo::new(move |_| highest(counts(&mut planner.space.get())).max(value.get()));
    let most = Memo::new(move |_| {
        let selected = planner.selected.get();
        planner.jobs.with(|jobs| jobs.get(selected).map_or(1, most_counts))
    });
    let beyond = move || value.get() > measured.get();
    let moved = move |event| {
        if let Ok(count) = event_target_value(&event).parse::<u32>() {
            let mut configuration = planner.what_if.get_untracked();
            *looked_at(&mut configuration) = count.max(1);
            planner.look_at_counts(configuration);
        }
    };
    let extended = move |event| {
        if let Ok(upper) = event_target_value(&event).parse::<u32>() {
            let range = counts_up_to(upper, most.get_untracked());
            let last = highest(&range);
            planner.space.update(|space| *counts(space) = range);
            let mut configuration = planner.what_if.get_untracked();
            if *looked_at(&mut configuration) > last {
                *looked_at(&mut configuration) = last;
                planner.look_at_counts(configuration);
            }
        }
    };
    view! {
        <div class="slider">
            <label for=testid>{label}</label>
            <output for=testid>{value}</output>
            <input
                id=testid
                type="range"
                min="1"
                step="1"
                max=move || end.get().to_string()
                data-testid=testid
                // Tracks the end too: if it changes later, the browser clamps the value to the old
                // end.
                prop:value=move || {
                    end.track();
                    value.get().to_string()
                }
                on:input=moved
            />
            <span class="range" class:beyond=beyond>
                {move || {
                    let measured = measured.get();
                    if beyond() { format!("beyond the {measured} measured") } else { format!("measured up to {measured}") }
                }}
            </span>
            <label class="up-to">
                "choose up to "
                <input
                    type="number"
                    min="1"
                    max=move || most.get().to_string()
                    data-testid=format!("{testid}-up-to")
                    aria-label=format!("{label}: choose up to")
                    prop:value=move || end.get().to_string()
                    on:change=extended
                />
            </label>
        </div>
    }
}
