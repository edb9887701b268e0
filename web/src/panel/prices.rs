//! The price sheet, to read and edit. It has a date, because prices change and results keep the
//! prices with which they were computed.

use foreglow_shared::{Preset, PriceSheet, day, format_rate, number, presets, share_of_percent};
use leptos::prelude::*;

use crate::state::Planner;

/// One field of the sheet, with its format and the function for its input.
struct Field {
    label: &'static str,
    kind: &'static str,
    show: fn(&PriceSheet) -> String,
    change: fn(&mut PriceSheet, &str) -> Result<(), String>,
}

const FIELDS: [Field; 11] = [
    Field {
        label: "Name",
        kind: "text",
        show: |sheet| sheet.name.clone(),
        change: |sheet, text| {
            text.trim().clone_into(&mut sheet.name);
            if sheet.name.is_empty() { Err("the price sheet needs a name".into()) } else { Ok(()) }
        },
    },
    Field {
        label: "Date",
        kind: "date",
        show: |sheet| sheet.date.to_string(),
        change: |sheet, text| {
            sheet.date = day(text.trim()).ok_or("write the date as 2026-01-31")?;
            Ok(())
        },
    },
    Field {
        label: "Currency",
        kind: "text",
        show: |sheet| sheet.currency.clone(),
        change: |sheet, text| {
            sheet.currency = text.trim().to_ascii_uppercase();
            Ok(())
        },
    },
    Field {
        label: "A core, per hour",
        kind: "text",
        show: |sheet| sheet.core_hour.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.core_hour = price),
    },
    Field {
        label: "A GiB of memory, per hour",
        kind: "text",
        show: |sheet| sheet.gib_hour.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.gib_hour = price),
    },
    Field {
        label: "An executor, per hour",
        kind: "text",
        show: |sheet| sheet.executor_hour.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.executor_hour = price),
    },
    Field {
        label: "An accelerator, per hour",
        kind: "text",
        show: |sheet| sheet.accelerator_hour.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.accelerator_hour = price),
    },
    Field {
        label: "Start of an executor",
        kind: "text",
        show: |sheet| sheet.executor_start.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.executor_start = price),
    },
    Field {
        label: "Billed start-up, seconds",
        kind: "text",
        show: |sheet| sheet.startup_secs.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.startup_secs = price),
    },
    Field {
        label: "Minimum billed, seconds",
        kind: "text",
        show: |sheet| sheet.minimum_secs.to_string(),
        change: |sheet, text| price(text).map(|price| sheet.minimum_secs = price),
    },
    Field {
        label: "Discount, %",
        kind: "text",
        show: |sheet| ((sheet.discount * 1e6).round() / 1e4).to_string(),
        change: |sheet, text| {
            price(text.trim().trim_end_matches('%')).map(|percent| sheet.discount = share_of_percent(percent))
        },
    },
];

fn price(text: &str) -> Result<f64, String> {
    let text = text.trim();
    number(text).ok_or_else(|| format!("{text:?} is not a price; write a number such as 0.04"))
}

/// A summary of the price sheet, with its fields in a collapsible form.
#[component]
pub fn Prices() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let mistake = RwSignal::new(None::<String>);
    let presets = StoredValue::new(presets());
    let preset = Memo::new(move |_| {
        planner
            .prices
            .with(|sheet| presets.with_value(|presets| presets.iter().position(|preset| preset.sheet == *sheet)))
    });
    let choose = move |event| {
        let place: Option<usize> = event_target_value(&event).parse().ok();
        if let Some(sheet) =
            place.and_then(|place| presets.with_value(|presets| Some(presets.get(place)?.sheet.clone())))
        {
            mistake.set(None);
            planner.prices.set(sheet);
        }
    };
    let options = presets.with_value(|presets| {
        let option = |(place, preset): (usize, &Preset)| {
            let text = format!("{} ({})", preset.sheet.name, preset.sheet.date);
            view! { <option value=place.to_string()>{text}</option> }
        };
        presets.iter().enumerate().map(option).collect_view()
    });
    let fields = FIELDS.iter().map(|field| {
        let set = move |event| {
            let mut sheet = planner.prices.get_untracked();
            let name = sheet.name.clone();
            let changed = (field.change)(&mut sheet, &event_target_value(&event));
            // Other prices are not those of the provider.
            if sheet.name == name && presets.with_value(|presets| presets.iter().any(|preset| preset.sheet.name == name)) {
                sheet.name = "own prices".into();
            }
            match changed.and_then(|()| sheet.check().map_err(|error| error.to_string())) {
                Ok(()) => {
                    mistake.set(None);
                    planner.prices.set(sheet);
                }
                Err(reason) => mistake.set(Some(reason)),
            }
        };
        view! {
            <label class="field">
                <span>{field.label}</span>
                <input type=field.kind autocomplete="off" prop:value=move || planner.prices.with(field.show) on:change=set />
            </label>
        }
    });
    view! {
        <div class="field prices">
            <label for="preset">"Prices"</label>
            <select
                id="preset"
                data-testid="preset"
                prop:value=move || preset.get().map_or_else(|| "own".into(), |place| place.to_string())
                on:change=choose
            >
                {options}
                <option value="own" disabled=move || preset.get().is_some()>"your own"</option>
            </select>
            <details>
                <summary>
                    <span class="rates">{move || planner.prices.with(rates)}</span>
                    <span class="edit">"Edit"</span>
                </summary>
                <div class="sheet">{fields.collect_view()}</div>
                <p class="note wrong" role="status">
                    {move || mistake.get().map(|mistake| format!("{mistake}. The price sheet is unchanged."))}
                </p>
            </details>
            <p class="note">
                {move || planner.prices.with(|sheet| format!("{}, as of {}", sheet.name, sheet.date))}
                {move || {
                    let source = presets.with_value(|presets| Some(presets.get(preset.get()?)?.source.clone()))?;
                    Some(view! { ". " <a href=source rel="noreferrer" target="_blank">"Source"</a> })
                }}
            </p>
        </div>
    }
}

/// Formats the rates: `USD 0.04048 a core + 0.004445 a GiB per hour, 30 % off`. Zero prices are
/// omitted.
fn rates(sheet: &PriceSheet) -> String {
    let parts = [
        (sheet.core_hour, "a core"),
        (sheet.gib_hour, "a GiB"),
        (sheet.executor_hour, "an executor"),
        (sheet.accelerator_hour, "an accelerator"),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(price, _)| *price > 0.0).map(|(price, what)| format!("{price} {what}")).collect();
    let start = if sheet.executor_start > 0.0 { format!(", {} a start", sheet.executor_start) } else { String::new() };
    let off = if sheet.discount > 0.0 { format!(", {} off", format_rate(sheet.discount)) } else { String::new() };
    format!("{} {} per hour{start}{off}", sheet.currency, parts.join(" + "))
}
