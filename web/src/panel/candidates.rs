//! The list of all configurations with their times and costs.

use leptos::prelude::*;

use crate::control::Command;
use crate::data::candidate_list::{CandidateList, SortBy};
use crate::panel::listed_row::ListedRow;
use crate::panel::prediction::cost_title;
use crate::state::Planner;
use crate::worker::plan::view::PublicView;

/// Number of rows shown initially.
const FEW: usize = 12;
/// The same without samples, where a row is a machine type.
const MANY: usize = 20;
/// Limit on the rows for smooth scrolling.
const MOST: usize = 1_000;

/// The list of all candidates, cheapest first.
#[component]
pub fn Candidates(
    /// Whether the page is about a job without samples, whose rows are machine types.
    #[prop(optional)]
    is_public: bool,
) -> impl IntoView {
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
    let few = if is_public { MANY } else { FEW };
    let places = Memo::new(move |_| {
        plan.with(|plan| {
            plan.as_ref().map(|plan| list.with(|list| list.places(plan, only_best.get()))).unwrap_or_default()
        })
    });
    let rows = Memo::new(move |_| {
        let limit = if all.get() || planner.printing.get() { MOST } else { few };
        let Some(plan) = plan.get() else { return Vec::new() };
        places.with(|places| places.iter().take(limit).filter_map(|place| ListedRow::of(&plan, *place)).collect())
    });
    let shown_rows = Memo::new(move |_| rows.with(Vec::<ListedRow>::len));
    // One memo per row, so that unchanged rows are not rebuilt.
    let body = move || {
        let row = |place: usize| {
            let row = Memo::new(move |_| rows.with(|rows| rows.get(place).cloned()));
            move || row.get().map(|row| row.shown(planner))
        };
        (0..shown_rows.get()).map(row).collect_view()
    };
    let says = move || {
        let compared = plan.with(|plan| plan.as_ref().map_or(0, |plan| plan.compared));
        let best = if only_best.get() { "The best of each machine type, of " } else { "All of " };
        format!("{best}{compared} configurations. ")
    };
    let count = move || places.with(Vec::len);
    let cost = Memo::new(move |_| plan.with(|plan| plan.as_deref().map_or_else(|| "Cost".to_owned(), cost_title)));
    view! {
        <section class="card candidates" aria-labelledby="candidates-title">
            <div class="samples-head">
                <h2 id="candidates-title">
                    {if is_public { "Machine types with GPUs" } else { "Every configuration" }}
                </h2>
                <label>
                    <span class="hush">"Show only "</span>
                    <input
                        type="search"
                        placeholder=if is_public { "such as A100 or aws" } else { "such as 2x4" }
                        data-testid="candidates-filter"
                        prop:value=move || list.with(|list| list.filter.clone())
                        on:input=move |event| list.update(|list| list.filter = event_target_value(&event))
                    />
                </label>
                <Show when=move || several.get() && !is_public>
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
                {(!is_public).then_some(says)} <span class="pareto-mark">"◆"</span>
                " marks the Pareto front: nothing else is both faster and cheaper."
            </p>
            <div class="scroll" tabindex="0" role="region" aria-labelledby="candidates-title">
                <table data-testid="candidates">
                    <thead>
                        <tr>
                            {head(list, is_public, cost)}
                        </tr>
                    </thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
            <Show when=move || { count() > few }>
                <button type="button" class="quiet" data-testid="more-candidates" on:click=move |_| all.update(|all| *all = !*all)>
                    {move || match (all.get(), count()) {
                        (true, _) => format!("Show the first {few}"),
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

/// The column headers.
fn head(list: RwSignal<CandidateList>, is_public: bool, cost: Memo<String>) -> impl IntoView {
    match is_public {
        true => view! {
            <SortHead list by=SortBy::Configuration label="Machine type" class="" />
            <th scope="col" class="wide">"GPUs, memory of a step"</th>
            <SortHead list by=SortBy::Time label="Time, 90 % interval" class="number" />
            <SortHead list by=SortBy::Money label=cost class="number" />
            <SortHead list by=SortBy::Probability label="Probability" class="number" />
            <th scope="col" class="wide">"From"</th>
            <th scope="col"><span class="out-of-sight">"Actions"</span></th>
        }
        .into_any(),
        false => view! {
            <SortHead list by=SortBy::Configuration label="Configuration" class="" />
            <SortHead list by=SortBy::Time label="Completion time" class="number" />
            <th scope="col" class="number wide">"90 % interval"</th>
            <SortHead list by=SortBy::Money label=cost class="number" />
            <SortHead list by=SortBy::Probability label="Probability" class="number wide" />
            <th scope="col" class="wide"><span class="out-of-sight">"Remark"</span></th>
            <th scope="col"><span class="out-of-sight">"Actions"</span></th>
        }
        .into_any(),
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
fn SortHead(
    list: RwSignal<CandidateList>,
    by: SortBy,
    #[prop(into)] label: Signal<String>,
    class: &'static str,
) -> impl IntoView {
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
