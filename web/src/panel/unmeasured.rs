//! The question about a job without samples.

use foreglow_model::{NetworkSource, OwnSpeed, Precision, SoftwareKind, UnmeasuredJob};
use foreglow_shared::Mode;
use leptos::prelude::*;

use super::question::{Budget, Deadline, Probability};
use crate::data::text::capitalised;
use crate::state::{Fit, Planner};

const PRECISIONS: [(&str, &str); 6] = [
    ("amp", "mixed (amp)"),
    ("bf16", "mixed (bf16)"),
    ("fp32", "fp32"),
    ("tf32", "tf32"),
    ("fp16", "fp16"),
    ("int8", "int8"),
];
const SOFTWARE: [(&str, &str); 4] = [
    ("", "not known"),
    ("plain", "plain framework code"),
    ("example", "a vendor's example"),
    ("tuned", "tuned for a benchmark"),
];
const MODES: [(&str, &str); 2] = [("training", "training"), ("inference", "inference")];
const KNOWN_MISTAKE: &str = "Write a GPU, such as RTX 3090 or 8xA100, and its images per second.";

/// The panel with the inputs of the question.
#[component]
pub fn UnmeasuredQuestion() -> impl IntoView {
    view! {
        <section class="card question unmeasured" aria-labelledby="question-title">
            <h2 id="question-title" class="out-of-sight">"The question"</h2>
            <NetworkField />
            <Choice name="mode" label="Mode" options=&MODES
                chosen=|job| job.mode.as_str()
                set=|job, mode| if let Ok(mode) = mode.parse() { set_mode(job, mode) } />
            <CountField name="images" label="Images" notes=["in the whole job", "Write a whole number above 0."]
                written=|job| Some(job.images) set=|job, images| job.images = images.unwrap_or(job.images) />
            <EpochsField />
            <Choice name="precision" label="Number format" options=&PRECISIONS
                chosen=|job| job.precision.name()
                set=|job, name| job.precision = Precision::named(name).unwrap_or(job.precision) />
            <Deadline />
            <Budget />
            <KnownSpeed />
            <Choice name="software" label="Your software" options=&SOFTWARE
                chosen=|job| job.software.map_or("", SoftwareKind::name)
                set=|job, name| job.software = SoftwareKind::named(name) />
            <details class="more">
                <summary data-testid="more-question">
                    <span class="edit">"Batch, image size and probability"</span>
                </summary>
                <div class="more-fields">
                    <CountField name="batch-size" label="Batch of one GPU" notes=["images of a step", "Write a whole number above 0."]
                        written=|job| Some(job.batch_size.into())
                        set=|job, size| job.batch_size = size.and_then(|size| size.try_into().ok()).unwrap_or(job.batch_size) />
                    <ImageSize />
                    <Probability />
                </div>
            </details>
        </section>
    }
}

/// Changes the mode. A forward pass has one epoch.
fn set_mode(job: &mut UnmeasuredJob, mode: Mode) {
    if job.mode != mode {
        job.mode = mode;
        job.epochs = if mode == Mode::Training { UnmeasuredJob::default().epochs } else { 1 };
    }
}

/// The name of the network.
#[component]
fn NetworkField() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let name = Memo::new(move |_| planner.unmeasured.with(|job| job.network.name().to_owned()));
    let set = move |event| {
        let text = event_target_value(&event).trim().to_owned();
        if !text.is_empty() && text != name.get_untracked() {
            planner.change(|state| {
                state.unmeasured.network = NetworkSource::Named(text);
                state.unmeasured.image_px = None;
            });
        }
    };
    let unknown = Memo::new(move |_| {
        let is_unknown = planner.public_names.with(|[names, _]| !names.contains(&name.get()));
        let is_file = planner.unmeasured.with(|job| matches!(job.network, NetworkSource::File(_)));
        let failure = planner.fit.with(|fit| if let Fit::Failed(reason) = fit { Some(reason.clone()) } else { None });
        failure.filter(|_| is_unknown && !is_file)
    });
    // More names than a user scrolls through, so that the browser's own list filters them.
    let options = move || {
        let option = |name: &String| view! { <option value=name.clone()></option> };
        planner.public_names.with(|[names, _]| names.iter().map(option).collect_view())
    };
    view! {
        <div class="field network">
            <label for="network">"Network"</label>
            <input
                id="network"
                type="text"
                list="network-names"
                autocomplete="off"
                spellcheck="false"
                autocapitalize="off"
                data-testid="network"
                aria-describedby="network-note"
                aria-invalid=move || unknown.with(Option::is_some).to_string()
                prop:value=name
                // The names of the less usual networks are fetched before the user chooses one.
                on:focus=move |_| planner.expect_no_samples(true)
                on:change=set
            />
            <datalist id="network-names">{options}</datalist>
            <p id="network-note" class="note" class:wrong=move || unknown.with(Option::is_some) role="status">
                {move || match unknown.get() {
                    Some(reason) => capitalised(&reason),
                    None => "or drop an ONNX file".into(),
                }}
            </p>
        </div>
    }
}

/// A field for one of several values.
#[component]
fn Choice(
    /// Name in tests and style sheets.
    name: &'static str,
    /// Label.
    label: &'static str,
    /// Values and their texts.
    options: &'static [(&'static str, &'static str)],
    /// The chosen value.
    chosen: fn(&UnmeasuredJob) -> &'static str,
    /// Sets a value.
    set: fn(&mut UnmeasuredJob, &str),
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let value = Memo::new(move |_| planner.unmeasured.with(chosen));
    let change = move |event| planner.change(|state| set(&mut state.unmeasured, &event_target_value(&event)));
    let options = options.iter().map(|(option, text)| {
        view! { <option value=*option selected=move || value.get() == *option>{*text}</option> }
    });
    view! {
        <div class=format!("field {name}")>
            <label for=name>{label}</label>
            <select id=name data-testid=name prop:value=value on:change=change>
                {options.collect_view()}
            </select>
        </div>
    }
}

/// A field for a whole number.
#[component]
fn CountField(
    /// Name in tests and style sheets.
    name: &'static str,
    /// Label.
    label: &'static str,
    /// The note, and its text for an invalid number.
    notes: [&'static str; 2],
    /// The number; `None` for an empty field.
    written: fn(&UnmeasuredJob) -> Option<u64>,
    /// Sets a number above 0, or `None` for an empty field.
    set: fn(&mut UnmeasuredJob, Option<u64>),
) -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(false);
    let count = Memo::new(move |_| planner.unmeasured.with(written));
    let change = move |event| {
        let text = event_target_value(&event);
        let count = foreglow_shared::count(&text).filter(|count| *count > 0);
        let is_optional = untrack(|| planner.unmeasured.with(written)).is_none() || notes[0].contains("usual");
        mistake.set(count.is_none() && !(text.trim().is_empty() && is_optional));
        if !mistake.get_untracked() {
            planner.change(|state| set(&mut state.unmeasured, count));
        }
    };
    view! {
        <div class=format!("field {name}")>
            <label for=name>{label}</label>
            <input
                id=name
                type="text"
                inputmode="numeric"
                autocomplete="off"
                data-testid=name
                aria-describedby=format!("{name}-note")
                aria-invalid=move || mistake.get().to_string()
                prop:value=move || count.get().map(|count| count.to_string()).unwrap_or_default()
                on:change=change
            />
            <p id=format!("{name}-note") class="note" class:wrong=move || mistake.get() role="status">
                {move || notes[usize::from(mistake.get())]}
            </p>
        </div>
    }
}

/// The epochs of a training.
#[component]
fn EpochsField() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let trains = Memo::new(move |_| planner.unmeasured.with(|job| job.mode == Mode::Training));
    view! {
        <Show when=move || trains.get()>
            <CountField name="epochs" label="Epochs" notes=["passes over them", "Write a whole number above 0."]
                written=|job| Some(job.epochs.into())
                set=|job, epochs| job.epochs = epochs.and_then(|epochs| epochs.try_into().ok()).unwrap_or(job.epochs) />
        </Show>
    }
}

/// The side of the images; a file fixes it.
#[component]
fn ImageSize() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let is_named = Memo::new(move |_| planner.unmeasured.with(|job| matches!(job.network, NetworkSource::Named(_))));
    view! {
        <Show when=move || is_named.get()>
            <CountField name="image-px" label="Side of the images, pixels"
                notes=["empty for the usual one", "Write a number of pixels, or nothing."]
                written=|job| job.image_px.map(u64::from)
                set=|job, px| job.image_px = px.and_then(|px| px.try_into().ok()) />
        </Show>
    }
}

/// A speed that the user knows.
#[component]
fn KnownSpeed() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let first = Memo::new(move |_| planner.unmeasured.with(|job| job.known.first().cloned()));
    let (gpu, speed) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let mistake = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        let text = first.get().map(|own| own.to_string()).unwrap_or_default();
        let (name, rate) = text.split_once('=').unwrap_or_default();
        gpu.set(name.to_owned());
        speed.set(rate.trim_end_matches("/s").to_owned());
        mistake.set(None);
    });
    let ask = move || {
        let (gpu, speed) = (gpu.get_untracked().trim().to_owned(), speed.get_untracked().trim().to_owned());
        let known: Result<Option<OwnSpeed>, String> = match (gpu.is_empty(), speed.is_empty()) {
            (true, true) => Ok(None),
            // The other field follows.
            (true, false) | (false, true) => return mistake.set(None),
            (false, false) => format!("{gpu}={speed}").parse().map(Some).map_err(|_: String| KNOWN_MISTAKE.to_owned()),
        };
        match known {
            Ok(known) => {
                mistake.set(None);
                if known != first.get_untracked() {
                    planner.change(|state| {
                        let others = state.unmeasured.known.iter().skip(1).cloned();
                        state.unmeasured.known = known.into_iter().chain(others).collect();
                    });
                }
            }
            Err(reason) => mistake.set(Some(reason)),
        }
    };
    let notes =
        move || planner.answer.planned().and_then(|plan| plan.public.clone()).map(|public| public.notes.join(". "));
    let note = Memo::new(move |_| {
        let contradiction = notes().filter(|notes| !notes.is_empty());
        let refusal = planner.fit.with(|fit| match fit {
            Fit::Failed(reason) if first.with(|own| own.as_ref().is_some_and(|own| reason.contains(&own.gpu))) => {
                Some(reason.clone())
            }
            _ => None,
        });
        mistake.get().or(refusal).or(contradiction).map(|text| capitalised(&text))
    });
    let names = move || {
        let option = |name: &String| view! { <option value=name.clone()></option> };
        planner.public_names.with(|[_, names]| names.iter().map(option).collect_view())
    };
    view! {
        <div class="field known" role="group" aria-labelledby="known-title">
            <span id="known-title">"My speed"</span>
            <div class="with-unit">
                <input
                    type="text"
                    list="gpu-names"
                    autocomplete="off"
                    spellcheck="false"
                    placeholder="on a GPU"
                    aria-label="GPU of my speed"
                    aria-describedby="known-note"
                    aria-invalid=move || mistake.with(Option::is_some).to_string()
                    data-testid="known-gpu"
                    prop:value=gpu
                    on:change=move |event| {
                        gpu.set(event_target_value(&event));
                        ask();
                    }
                />
                <datalist id="gpu-names">{names}</datalist>
                <input
                    type="text"
                    inputmode="decimal"
                    autocomplete="off"
                    placeholder="none"
                    aria-label="My speed, images per second"
                    aria-describedby="known-note"
                    aria-invalid=move || mistake.with(Option::is_some).to_string()
                    data-testid="known-speed"
                    prop:value=speed
                    on:change=move |event| {
                        speed.set(event_target_value(&event));
                        ask();
                    }
                />
                <span>"images/s"</span>
            </div>
            <p id="known-note" class="note" class:wrong=move || note.with(Option::is_some) role="status">
                {move || note.get().unwrap_or_else(|| "one own number narrows all intervals".into())}
            </p>
        </div>
    }
}
