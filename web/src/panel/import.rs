//! What the user adds to a file: the columns of a table, or what a run does not tell.

use foreglow_shared::{Engine, Extent, Field, FieldSource, Mapping, TimeUnit};
use leptos::prelude::*;

use crate::data::text::title_case;
use crate::source::{read_labelled, read_mapped};
use crate::state::{Lacked, Planner, Unmapped};

/// The form of the file that is being opened. The page keeps its previous answer until it is
/// submitted.
#[component]
pub fn ImportPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let reading = planner.import.reading;
    view! {
        {move || reading.get().map(|name| view! {
            <p class="notice" role="status" data-testid="reading">{format!("Reading {name}…")}</p>
        })}
        {move || planner.import.notes.with(|notes| (!notes.is_empty()).then(|| view! {
            <div class="notice" role="status" data-testid="import-notes">
                <p>{notes.join(" ")}</p>
                <button type="button" class="quiet" on:click=move |_| planner.import.notes.set(Vec::new())>"Dismiss"</button>
            </div>
        }))}
        {move || planner.import.unmapped.get().map(|table| columns(planner, table))}
        {move || planner.import.lacking.get().map(|lacked| labels(planner, lacked))}
    }
}

fn columns(planner: Planner, table: Unmapped) -> impl IntoView {
    let Unmapped { name, columns, mistake } = table;
    let mapping = RwSignal::new(columns.mapping);
    let headers = StoredValue::new(columns.headers.clone());
    let fields = Field::ALL.map(|field| view! { <FieldRow field headers mapping /> }).into_iter().collect_view();
    let head = columns.headers.into_iter().map(|header| view! { <th scope="col">{header}</th> }).collect_view();
    let rows = columns
        .rows
        .into_iter()
        .map(|row| view! { <tr>{row.into_iter().map(|cell| view! { <td>{cell}</td> }).collect_view()}</tr> })
        .collect_view();
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        read_mapped(planner, mapping.get_untracked());
    };
    view! {
        <section class="card import" aria-labelledby="import-title" data-testid="import">
            <h2 id="import-title">{format!("The columns of {name}")}</h2>
            <p class="hush">
                "It is a table of another tool. Choose the column of each field, or a value for all rows; each row is then a run. The \
                 page below does not change until you do."
            </p>
            <div class="scroll" tabindex="0" role="region" aria-label="The first rows of the file">
                <table>
                    <thead><tr>{head}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <form class="import-form" on:submit=submit>
                <div class="import-fields">{fields}</div>
                <div class="import-units">
                    <Choice label="The completion time is in" testid="import-time-unit"
                        options=vec![("seconds", TimeUnit::Secs), ("milliseconds", TimeUnit::Millis), ("minutes", TimeUnit::Minutes)]
                        mapping at=|mapping| &mut mapping.time_unit />
                    <Choice label="The amount of work is" testid="import-extent"
                        options=vec![("a share, 0 to 1", Extent::Share), ("percent", Extent::Percent), ("a number of images", Extent::Images)]
                        mapping at=|mapping| &mut mapping.extent />
                    <Choice label="It ran on" testid="import-engine"
                        options=vec![("Apache Spark", Engine::Spark), ("processes of one machine", Engine::Local)]
                        mapping at=|mapping| &mut mapping.engine />
                </div>
                {mistake.map(|mistake| view! { <p class="note wrong" role="alert" data-testid="import-mistake">{mistake}</p> })}
                <p class="buttons">
                    <button type="submit" class="primary" data-testid="import-use">"Use these columns"</button>
                    <button type="button" class="quiet" on:click=move |_| planner.import.give_up()>"Cancel"</button>
                </p>
            </form>
        </section>
    }
}

/// The form for what a log or a training run does not tell.
fn labels(planner: Planner, lacked: Lacked) -> impl IntoView {
    let Lacked { name, labels, needed, mistake } = lacked;
    let values = StoredValue::new(labels.clone());
    let field = |(place, (label, value)): (usize, (String, String))| {
        let is_needed = needed.contains(&label);
        let set = move |event| values.update_value(|values| values[place].1 = event_target_value(&event));
        view! {
            <div class="import-field">
                <label>
                    <span>{described(&label)}</span>
                    <input type="text" autocomplete="off" required=is_needed data-testid=format!("label-{label}")
                        prop:value=value on:change=set />
                </label>
            </div>
        }
    };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        read_labelled(planner, values.get_value());
    };
    view! {
        <section class="card import" aria-labelledby="lacking-title" data-testid="lacking">
            <h2 id="lacking-title">{format!("The run in {name}")}</h2>
            <p class="hush">"The file does not tell all of its job. The page below does not change until you add what it lacks."</p>
            <form class="import-form" on:submit=submit>
                <div class="import-fields">{labels.into_iter().enumerate().map(field).collect_view()}</div>
                {mistake.map(|mistake| view! { <p class="note wrong" role="alert" data-testid="lacking-mistake">{mistake}</p> })}
                <p class="buttons">
                    <button type="submit" class="primary" data-testid="lacking-use">"Use this run"</button>
                    <button type="button" class="quiet" on:click=move |_| planner.import.give_up()>"Cancel"</button>
                </p>
            </form>
        </section>
    }
}

/// Describes a label for users.
fn described(label: &str) -> String {
    match label {
        "model" => "Name of the job".to_owned(),
        "steps" | "epochs" | "images" => format!("{} of the whole job", title_case(label)),
        "accelerator" => "GPU, empty for none".to_owned(),
        "gpus" => "GPUs of the run".to_owned(),
        "memory_per_executor_mib" => "Memory of an executor, MiB".to_owned(),
        _ => title_case(&label.replace('_', " ")),
    }
}

/// The mapping of one field: a column, or a constant for all rows.
#[component]
fn FieldRow(
    /// The field.
    field: Field,
    /// The names of the columns.
    headers: StoredValue<Vec<String>>,
    /// The mapping to change.
    mapping: RwSignal<Mapping>,
) -> impl IntoView {
    let testid = format!("import-{}", field.label().replace([' ', ','], "-"));
    let place = Memo::new(move |_| mapping.with(|mapping| mapping.places.get(&field).cloned()));
    let chosen = move || match place.get() {
        Some(FieldSource::Column(column)) => column.to_string(),
        _ => "fixed".into(),
    };
    let choose = move |event| {
        let place = match event_target_value(&event).parse() {
            Ok(column) => FieldSource::Column(column),
            Err(_) => FieldSource::Fixed(field.usual().unwrap_or_default().into()),
        };
        mapping.update(|mapping| {
            mapping.places.insert(field, place);
        });
    };
    let fix = move |event| {
        let text = event_target_value(&event);
        mapping.update(|mapping| {
            mapping.places.insert(field, FieldSource::Fixed(text));
        });
    };
    let is_fixed = Memo::new(move |_| !matches!(place.get(), Some(FieldSource::Column(_))));
    let options = headers.with_value(|headers| {
        headers
            .iter()
            .enumerate()
            .map(|(column, header)| {
                let is_chosen = move || place.get() == Some(FieldSource::Column(column));
                view! { <option value=column.to_string() selected=is_chosen>{format!("column {header}")}</option> }
            })
            .collect_view()
    });
    let label = field.label();
    view! {
        <div class="import-field">
            <label>
                <span>{label}</span>
                <select data-testid=testid.clone() on:change=choose prop:value=chosen>
                    <option value="fixed" selected=move || is_fixed.get()>"the same for all rows:"</option>
                    {options}
                </select>
            </label>
            <Show when=move || is_fixed.get()>
                <input
                    type="text"
                    aria-label=format!("{label}, for all rows")
                    data-testid=format!("{testid}-fixed")
                    prop:value=move || match place.get() {
                        Some(FieldSource::Fixed(text)) => text,
                        _ => String::new(),
                    }
                    on:change=fix
                />
            </Show>
        </div>
    }
}

/// A selection of one of a few options.
#[component]
fn Choice<T: Copy + PartialEq + Send + Sync + 'static>(
    label: &'static str,
    testid: &'static str,
    options: Vec<(&'static str, T)>,
    mapping: RwSignal<Mapping>,
    at: fn(&mut Mapping) -> &mut T,
) -> impl IntoView {
    let options = StoredValue::new(options);
    let choose = move |event| {
        let place = event_target_value(&event).parse::<usize>().ok();
        if let Some((_, chosen)) = options.with_value(|options| place.and_then(|place| options.get(place).copied())) {
            mapping.update(|mapping| *at(mapping) = chosen);
        }
    };
    let views = options.with_value(|options| {
        options
            .iter()
            .enumerate()
            .map(|(place, (name, value))| {
                let value = *value;
                let is_chosen = move || *at(&mut mapping.get()) == value;
                view! { <option value=place.to_string() selected=is_chosen>{*name}</option> }
            })
            .collect_view()
    });
    view! {
        <label class="import-choice">
            <span>{label}</span>
            <select data-testid=testid on:change=choose>{views}</select>
        </label>
    }
}
