//! The list of all configurations with their times and costs.

use foreglow_shared::format_probability;
use leptos::prelude::*;

use crate::control::{Command, CopyButton, WhyButton};
use crate::data::candidate_list::{CandidateList, SortBy};
use crate::data::machine_choice::Selection;
use crate::panel::prediction::{all_digits, interval_ends, money_of, time_of};
use crate::state::Planner;
use crate::worker::plan::view::{Hardware, PlanView, PublicView, Row};

/// Number of rows shown initially.
const FEW: usize = 12;
/// Limit on the rows for smooth scrolling.
const MOST: usize = 1_000;

/// A row of the list.
#[derive(Clone, Debug, PartialEq)]
struct ListedRow {
    row: Row,
    selection: Selection,
    /// `c5.xlarge`; empty with a single machine type.
    machine: String,
    money: String,
    /// The hardware of a machine type that was not measured, and the basis of its time.
    hardware: Option<(Hardware, String)>,
    is_recommended: bool,
    is_on_front: bool,
}

impl ListedRow {
    fn of(plan: &PlanView, place: usize) -> Option<Self> {
        let row = plan.row(Some(place))?.clone();
        let arm = plan.arms.get(row.arm);
        Some(Self {
            selection: plan.selection(&row),
            machine: arm.map(|arm| arm.machine.clone()).unwrap_or_default(),
            hardware: arm.and_then(|arm| Some((arm.hardware.clone()?, arm.borrowed_from.clone()?))),
            money: money_of(row.cost, &plan.currency),
            is_recommended: plan.recommended == Some(place),
            is_on_front: plan.front.contains(&place),
            row,
        })
    }
}

/// The list of all candidates, cheapest first.
#[component]
pub fn Candidates() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let all = RwSignal::new(false);
    let only_best = RwSignal::new(false);
    let list = planner.list;
    let plan = Memo::new(move |_| planner.answer.planned());
    let several = Memo::new(move |_| plan.with(|plan| plan.as_ref().is_some_and(|plan| plan.types.len() > 1)));
    // Several machine types are first compared by the best of each.
    Effect::new(move |_| {
        only_best.set(several.get());
    });
    let public = Memo::new(move |_| plan.with(|plan| plan.as_ref()?.public.clone()));
    let is_public = Memo::new(move |_| planner.is_unmeasured());
    let places = Memo::new(move |_| {
        plan.with(|plan| {
            plan.as_ref().map(|plan| list.with(|list| list.places(plan, only_best.get()))).unwrap_or_default()
        })
    });
    let rows = Memo::new(move |_| {
        let limit = if all.get() { MOST } else { FEW };
        let Some(plan) = plan.get() else { return Vec::new() };
        places.with(|places| places.iter().take(limit).filter_map(|place| ListedRow::of(&plan, *place)).collect())
    });
    let shown_rows = Memo::new(move |_| rows.with(Vec::<ListedRow>::len));
    // One memo per row, so that unchanged rows are not rebuilt.
    let body = move || {
        let row = |place: usize| {
            let row = Memo::new(move |_| rows.with(|rows| rows.get(place).cloned()));
            move || row.get().map(|row| shown(planner, row))
        };
        (0..shown_rows.get()).map(row).collect_view()
    };
    let says = move || {
        let compared = plan.with(|plan| plan.as_ref().map_or(0, |plan| plan.compared));
        let best = if only_best.get() { "The best of each machine type, of " } else { "All of " };
        format!("{best}{compared} configurations. ")
    };
    let count = move || places.with(Vec::len);
    view! {
        <section class="card candidates" aria-labelledby="candidates-title">
            <div class="samples-head">
                <h2 id="candidates-title">
                    {move || if is_public.get() { "Machine types with GPUs" } else { "Every configuration" }}
                </h2>
                <label>
                    <span class="hush">"Show only "</span>
                    <input
                        type="search"
                        placeholder=move || if is_public.get() { "such as A100 or aws" } else { "such as 2x4" }
                        data-testid="candidates-filter"
                        prop:value=move || list.with(|list| list.filter.clone())
                        on:input=move |event| list.update(|list| list.filter = event_target_value(&event))
                    />
                </label>
                <Show when=move || several.get() && !is_public.get()>
                    <label>
                        <input
                            type="checkbox"
                            data-testid="only-best"
                            prop:checked=only_best
                            on:change=move |event| only_best.set(event_target_checked(&event))
                        />
                        " Best of each machine type"
                    </label>
                </Show>
            </div>
            {move || public.get().map(basis)}
            <p class="hush" data-testid="candidates-says">
                {move || (!is_public.get()).then(says)} <span class="pareto-mark">"◆"</span>
                " marks the Pareto front: nothing else is both faster and cheaper."
            </p>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="candidates-title">
                <table data-testid="candidates">
                    <thead>
                        <tr>
                            <SortHead list by=SortBy::Configuration label="Configuration" class="" />
                            {move || is_public.get().then(|| view! {
                                <th scope="col">"GPUs"</th>
                                <th scope="col" class="wide">"GPU memory"</th>
                            })}
                            <SortHead list by=SortBy::Time label="Completion time" class="number" />
                            <th scope="col" class="number wide">"90 % interval"</th>
                            <SortHead list by=SortBy::Money label="Cost" class="number" />
                            <SortHead list by=SortBy::Probability label="Probability" class="number wide" />
                            {move || is_public.get().then(|| view! { <th scope="col" class="wide">"From"</th> })}
                            <th scope="col" class="wide"><span class="out-of-sight">"Remark"</span></th>
                            <th scope="col"><span class="out-of-sight">"Actions"</span></th>
                        </tr>
                    </thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
            <Show when=move || { count() > FEW }>
                <button type="button" class="quiet" data-testid="more-candidates" on:click=move |_| all.update(|all| *all = !*all)>
                    {move || match (all.get(), count()) {
                        (true, _) => format!("Show the first {FEW}"),
                        (false, count) if count > MOST => format!("Show the first {MOST} of {count}"),
                        (false, count) => format!("Show all {count}"),
                    }}
                </button>
            </Show>
            {move || public.get().map(|public| view! {
                <div class="same">
                    <p class="hush">"The same answer in a terminal, with --deadline or --budget:"</p>
                    <Command command=public.command />
                </div>
            })}
        </section>
    }
}

/// What the times are based on, and how sure their order is.
fn basis(public: PublicView) -> impl IntoView {
    view! {
        <p class="basis" data-testid="basis">
            {public.basis} " " {public.order.map(|order| view! { <strong>{order}</strong> })}
        </p>
    }
}

/// A column header that sorts by its column.
#[component]
fn SortHead(list: RwSignal<CandidateList>, by: SortBy, label: &'static str, class: &'static str) -> impl IntoView {
    let order = move || match list.with(|list| (list.by == by, list.descending)) {
        (false, _) => "none",
        (true, false) => "ascending",
        (true, true) => "descending",
    };
    let sort = move |_| {
        list.update(|list| {
            list.descending = list.by == by && !list.descending;
            list.by = by;
        });
    };
    view! {
        <th scope="col" class=class aria-sort=order>
            <button type="button" class="sort" on:click=sort>{label}</button>
        </th>
    }
}

fn shown(planner: Planner, listed: ListedRow) -> impl IntoView {
    let ListedRow { row, selection, machine, money, hardware, is_recommended, is_on_front } = listed;
    let chance = row.success_probability.map(format_probability);
    let (looked, pinned, watched, pinnable) = (selection.clone(), selection.clone(), selection.clone(), selection);
    let pin_label = format!("Pin {}", row.name);
    let explained = pinnable.clone();
    let (place, gpus, from, acts) = match hardware {
        None => (None, None, None, None),
        Some((Hardware { gpus, place, memory, command }, basis)) => {
            let title = command.clone();
            (
                Some(view! { <span class="beside place">{place}</span> }),
                Some(view! { <td>{gpus}</td> <td class="wide">{memory}</td> }),
                Some(view! { <td class="wide from">{basis}</td> }),
                Some(view! {
                    <WhyButton configuration=Signal::stored(explained) />
                    " "
                    <span title=title>
                        <CopyButton text=Signal::stored(command) label="Copy its measuring command" testid="copy-measure" />
                    </span>
                }),
            )
        }
    };
    let is_unmeasured = acts.is_some();
    view! {
        <tr
            class:recommended-row=is_recommended
            class:late=!row.is_feasible
            class:looked-at=move || planner.selection() == watched
            data-machine=machine
        >
            <th scope="row">
                <button type="button" class="pick" title=(!is_unmeasured).then_some("Show it in the what-if") on:click=move |_| planner.look_at(looked.clone())>
                    {row.name}
                </button>
                {is_on_front.then(|| view! { <span class="pareto-mark" title="on the Pareto front">" ◆"</span> })}
                {place}
            </th>
            {gpus}
            <td class="number" data-secs=all_digits(row.secs)>{time_of(row.secs)}</td>
            <td class="number wide">{row.interval.map(|interval| interval_ends(Some(&interval)))}</td>
            <td class="number" data-cost=all_digits(row.cost)>{money}</td>
            <td class="number wide">{chance}</td>
            {from}
            <td class="wide remark" title=row.exclusion>{row.remark}</td>
            <td class="acts">
                {acts}
                {(!is_unmeasured).then(|| view! { <button
                    type="button"
                    class="why"
                    aria-label=pin_label
                    aria-disabled=move || planner.is_pinned(&pinnable).to_string()
                    on:click=move |_| planner.pin(pinned.clone())
                >
                    "Pin"
                </button> })}
            </td>
        </tr>
    }
}
