//! The price sheet, to read and edit. It has a date, because prices change and results keep the
//! prices with which they were computed.

use foreglow_shared::{Preset, PriceSheet, day, format_rate, number, presets, share_of_percent};
use leptos::prelude::*;

use crate::state::Planner;

/// A field of the price sheet.
#[derive(Clone, Copy)]
enum Value {
    Name,
    Date,
    Currency,
    /// An amount of money or of seconds.
    Number(fn(&mut PriceSheet) -> &mut f64),
    /// The discount, percent.
    Discount,
}

const FIELDS: [(&str, Value); 11] = [
    ("Name", Value::Name),
    ("Date", Value::Date),
    ("Currency", Value::Currency),
    ("A core, per hour", Value::Number(|sheet| &mut sheet.core_hour)),
    ("A GiB of memory, per hour", Value::Number(|sheet| &mut sheet.gib_hour)),
    ("An executor, per hour", Value::Number(|sheet| &mut sheet.executor_hour)),
    ("An accelerator, per hour", Value::Number(|sheet| &mut sheet.accelerator_hour)),
    ("Start of an executor", Value::Number(|sheet| &mut sheet.executor_start)),
    ("Billed start-up, seconds", Value::Number(|sheet| &mut sheet.startup_secs)),
    ("Minimum billed, seconds", Value::Number(|sheet| &mut sheet.minimum_secs)),
    ("Discount, %", Value::Discount),
];

impl Value {
    fn show(self, sheet: &PriceSheet) -> String {
        match self {
            Self::Name => sheet.name.clone(),
            Self::Date => sheet.date.to_string(),
            Self::Currency => sheet.currency.clone(),
            Self::Number(at) => at(&mut sheet.clone()).to_string(),
            Self::Discount => ((sheet.discount * 1e6).round() / 1e4).to_string(),
        }
    }

    /// Changes the sheet to what a user wrote.
    ///
    /// # Errors
    /// The text is no such value.
    fn change(self, sheet: &mut PriceSheet, text: &str) -> Result<(), String> {
        let text = text.trim();
        match self {
            Self::Name if text.is_empty() => return Err("the price sheet needs a name".into()),
            Self::Name => text.clone_into(&mut sheet.name),
            Self::Date => sheet.date = day(text).ok_or("write the date as 2026-01-31")?,
            Self::Currency => sheet.currency = text.to_ascii_uppercase(),
            Self::Number(at) => *at(sheet) = price(text)?,
            Self::Discount => sheet.discount = share_of_percent(price(text.trim_end_matches('%'))?),
        }
        Ok(())
    }
}

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
    let fields = FIELDS.map(|(label, field)| {
        let kind = if matches!(field, Value::Date) { "date" } else { "text" };
        let set = move |event| {
            let mut sheet = planner.prices.get_untracked();
            let name = sheet.name.clone();
            let changed = field.change(&mut sheet, &event_target_value(&event));
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
                <span>{label}</span>
                <input type=kind autocomplete="off" prop:value=move || planner.prices.with(|sheet| field.show(sheet)) on:change=set />
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
                <div class="sheet">{fields.into_iter().collect_view()}</div>
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
