//! The table of runs: sortable, filterable, with a checkbox to exclude each run. Only the visible
//! rows are rendered.

use foreglow_model::Setting;
use foreglow_shared::{CoreSplit, format_count, format_duration, format_rate};
use leptos::html::Div;
use leptos::prelude::*;

use crate::data::left_out::Run;
use crate::data::run_table::{Arrangement, Column, ListedRun, arrange, rows, window};
use crate::data::text::relative_error;
use crate::state::Planner;

const ROW_HEIGHT: f64 = 36.0;
const COLUMNS: [(Column, &str, &str); 6] = [
    (Column::Executors, "Executors", "number"),
    (Column::Cores, "Cores", "number"),
    (Column::SamplingRate, "Share of the job", "number"),
    (Column::Secs, "Completion time", "number"),
    (Column::Memory, "Memory, MiB", "number wide"),
    (Column::PartitionSize, "Partition size", "number wide"),
];

/// The table of all runs of the job.
#[component]
pub fn Samples() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let arrangement = RwSignal::new(Arrangement::default());
    let all = Memo::new(move |_| {
        let job = planner.job();
        job.map(|job| rows(&job, &planner.edits.with(|edits| edits.left_out.of(&job.context)))).unwrap_or_default()
    });
    let places = Memo::new(move |_| arrangement.with(|arrangement| all.with(|rows| arrange(rows, arrangement))));
    let scroller = NodeRef::<Div>::new();
    let top = RwSignal::new(0.0);
    let height = RwSignal::new(420.0);
    let scrolled = move |_| {
        if let Some(element) = scroller.get_untracked() {
            top.set(f64::from(element.scroll_top()));
            height.set(f64::from(element.client_height()));
        }
    };
    let range = Memo::new(move |_| window(places.with(Vec::len), top.get(), height.get(), ROW_HEIGHT));
    let filter = move |event| {
        arrangement.update(|arrangement| arrangement.words = event_target_value(&event));
        if let Some(element) = scroller.get_untracked() {
            element.set_scroll_top(0);
        }
        top.set(0.0);
    };
    let count = move || {
        let (shown, all) = (places.with(Vec::len), all.with(Vec::len));
        let out = all_left_out(planner);
        let out = if out == 0 { String::new() } else { format!(", {out} excluded") };
        if shown == all {
            format!("{}{out}", format_count(all, "run"))
        } else {
            format!("{shown} of {}{out}", format_count(all, "run"))
        }
    };
    let spacer = move |rows: usize| format!("{}px", rows as f64 * ROW_HEIGHT);
    view! {
        <section class="card samples" aria-labelledby="samples-title">
            <div class="samples-head">
                <h2 id="samples-title">"Every run"</h2>
                <label>
                    <span class="hush">"Show only "</span>
                    <input type="search" placeholder="such as 2x1 10%" data-testid="samples-filter" on:input=filter />
                </label>
                <p class="hush" role="status" data-testid="samples-count">{count}</p>
            </div>
            <p class="hush">"Exclude a run to refit without it. The link keeps your choice."</p>
            <div
                class="scroll rows"
                tabindex="0"
                role="region"
                aria-labelledby="samples-title"
                node_ref=scroller
                data-testid="samples-scroll"
                on:scroll=scrolled
            >
                <table data-testid="samples" aria-rowcount=move || (places.with(Vec::len) + 1).to_string()>
                    <thead>
                        <tr aria-rowindex="1">
                            {COLUMNS.map(|(column, label, class)| view! { <Head column label class arrangement /> }).into_iter().collect_view()}
                            <th scope="col" class="number wide">"Error"</th>
                            <th scope="col">"Included"</th>
                        </tr>
                    </thead>
                    <tbody>
                        <tr class="spacer" aria-hidden="true">
                            <td colspan="8" style:height=move || spacer(range.get().start)></td>
                        </tr>
                        <For
                            each=move || {
                                let shown = range.get();
                                places.with(|places| all.with(|rows| {
                                    shown.map(|place| (place, rows[places[place]])).collect::<Vec<(usize, ListedRun)>>()
                                }))
                            }
                            key=|(place, row)| (*place, row_key(row))
                            children=move |(place, row)| {
                                let is_out = move || {
                                    places.with(|places| all.with(|rows| places.get(place).is_some_and(|row| rows[*row].left_out)))
                                };
                                run_row(planner, place, row, is_out)
                            }
                        />
                        <tr class="spacer" aria-hidden="true">
                            <td colspan="8" style:height=move || spacer(places.with(Vec::len).saturating_sub(range.get().end))></td>
                        </tr>
                    </tbody>
                </table>
            </div>
        </section>
    }
}

fn all_left_out(planner: Planner) -> usize {
    let context = planner.job().map(|job| job.context);
    let runs = context.map(|context| planner.edits.with(|edits| edits.left_out.of(&context))).unwrap_or_default();
    runs.observations.len() + runs.incomplete.len()
}

/// The key of a row, which belongs to the run and not to its position. Excluding a run keeps its
/// row and the focus on its checkbox.
fn row_key(row: &ListedRun) -> (CoreSplit, u32, u32, u64, u64) {
    let (split, memory, partition_size) = row.features();
    let bits = |number: f64| number.to_bits();
    (split, memory, partition_size, bits(row.sampling_rate()), row.secs().map_or(0, bits))
}

/// A column header that sorts by its column.
#[component]
fn Head(column: Column, label: &'static str, class: &'static str, arrangement: RwSignal<Arrangement>) -> impl IntoView {
    let order = move || {
        let Arrangement { column: sorted, descending, .. } = arrangement.get();
        match (sorted == column, descending) {
            (false, _) => "none",
            (true, false) => "ascending",
            (true, true) => "descending",
        }
    };
    let sort = move |_| {
        arrangement.update(|arrangement| {
            arrangement.descending = arrangement.column == column && !arrangement.descending;
            arrangement.column = column;
        });
    };
    view! {
        <th scope="col" class=class aria-sort=order>
            <button type="button" class="sort" on:click=sort>
                {label}
                <span class="arrow" aria-hidden="true">
                    {move || match order() {
                        "ascending" => " ▲",
                        "descending" => " ▼",
                        _ => "",
                    }}
                </span>
            </button>
        </th>
    }
}

fn run_row(
    planner: Planner,
    place: usize,
    row: ListedRun,
    is_out: impl Fn() -> bool + Copy + Send + 'static,
) -> impl IntoView {
    let (split, memory, partition_size) = row.features();
    let time = row.secs().map_or_else(|| row.outcome().replace('_', " "), format_duration);
    let label = format!("{}, {} of the images, {time}: included", split.short(), format_rate(row.sampling_rate()));
    // The relative error of the predictor on the run, if the charts show its machine type.
    let off = move || {
        let Run::Completed(run) = row.run else { return String::new() };
        let predicted = planner.answer.charts.with(|charts| charts.as_ref()?.predicted_secs(Setting::of(&run)));
        predicted.map(|secs| relative_error(secs, run.completion_time_secs)).unwrap_or_default()
    };
    view! {
        <tr class:out=is_out aria-rowindex=(place + 2).to_string() data-testid="run">
            <td class="number">{split.executors}</td>
            <td class="number">{split.cores()}</td>
            <td class="number">{format_rate(row.sampling_rate())}</td>
            <td class="number" data-secs=row.secs().map(|secs| secs.to_string())>{time}</td>
            <td class="number wide">{memory}</td>
            <td class="number wide">{partition_size}</td>
            <td class="number wide">{off}</td>
            <td>
                <input
                    type="checkbox"
                    aria-label=label
                    prop:checked=move || !is_out()
                    on:change=move |event| planner.set_left_out(row.run, !event_target_checked(&event))
                />
            </td>
        </tr>
    }
}
