//! The comparison of machine types as HTML. The worker writes it, so that the page needs neither
//! the table nor the code to build it.

use foreglow_model::Limits;
use foreglow_shared::{Devices, format_duration, format_money, format_probability};
use serde::{Deserialize, Serialize};

use super::{MachineRow, MachineTable, TypePrice, accuracy, front};
use crate::data::machine_choice::MachineChoice;
use crate::data::text::escaped;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineHtml {
    /// The HTML of the comparison; `None` if it is unchanged.
    pub compared: Option<ComparedHtml>,
    /// The what-if.
    pub picked: String,
}

/// The HTML of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedHtml {
    /// The recommendation over all machine types.
    pub recommended: String,
    /// The same in one line, as text; empty without one.
    pub in_short: String,
    /// The table, the chart, the reasons, and the choice with its prices. It does not depend on the
    /// what-if.
    pub body: String,
}

impl ComparedHtml {
    /// Writes a plan.
    pub fn of(table: &MachineTable, choice: &MachineChoice, limits: &Limits) -> Self {
        let accuracy = accuracy::section(table, limits);
        let body = match table.compares() {
            false => accuracy,
            true => {
                let picture = picture(table, limits.deadline_secs);
                format!("{}{}{picture}{accuracy}{}", devices(choice), rows(table), list(table, choice))
            }
        };
        Self { recommended: recommended(table), in_short: in_short(table), body }
    }

    /// Writes the reason why a comparison failed.
    pub fn failed(reason: &str, choice: &MachineChoice) -> Self {
        let body = format!("{}<p class=\"reason\" role=\"alert\">{}</p>", devices(choice), escaped(reason));
        Self { body, ..Self::default() }
    }
}

fn time(row: &MachineRow) -> String {
    row.secs.map_or_else(|| "unknown".to_owned(), format_duration)
}

fn money(table: &MachineTable, row: &MachineRow) -> String {
    row.cost.map_or_else(|| "unknown".to_owned(), |cost| escaped(&format_money(cost, &table.currency)))
}

fn in_short(table: &MachineTable) -> String {
    let row = table.recommended.and_then(|place| table.rows.get(place)).filter(|_| table.compares());
    let text = |row: &MachineRow| {
        let cost = row.cost.map(|cost| format!(" · {}", format_money(cost, &table.currency)));
        format!("{} · {}{}", row.description_with_sizes, time(row), cost.unwrap_or_default())
    };
    row.map(text).unwrap_or_default()
}

fn recommended(table: &MachineTable) -> String {
    if !table.compares() {
        return String::new();
    }
    let at = |place: Option<usize>| table.rows.get(place?);
    let note = match table.types.len() {
        0 | 1 if table.averaging_intervals > 1 => {
            "The best of all batch and partition sizes and averaging intervals. Below, that of the selected runs."
        }
        0 | 1 => "The best of all batch and partition sizes. Below, that of the selected runs.",
        _ => "The best of all machine types. Below, the machine type of the selected runs.",
    };
    match (at(table.recommended), at(table.fastest)) {
        (Some(row), _) => {
            let chance = row.success_probability.map(|chance| format!(", probability {}", format_probability(chance)));
            let accuracy = match row.accuracy.as_str() {
                "" => String::new(),
                accuracy => format!("<span data-testid=\"recommended-accuracy\">Accuracy: {accuracy}</span>"),
            };
            format!(
                "<strong data-testid=\"recommended-machines\">{}</strong><span data-testid=\"recommended-machines-time\" \
                 data-secs=\"{}\">{}, {}{}</span>{accuracy}<span class=\"hush\">{note}</span>",
                escaped(&row.description_with_sizes),
                row.secs.unwrap_or_default(),
                time(row),
                money(table, row),
                escaped(&chance.unwrap_or_default()),
            )
        }
        (None, Some(fastest)) => format!(
            "<span data-testid=\"recommended-machines\">No machine type meets the limits. The fastest is {}: {}.</span>",
            escaped(&fastest.description),
            time(fastest),
        ),
        (None, None) => String::new(),
    }
}

fn devices(choice: &MachineChoice) -> String {
    let button = |(devices, label): (Devices, &str)| {
        let name = label.to_ascii_lowercase();
        let is_chosen = choice.devices == devices;
        format!(
            "<button type=\"button\" data-testid=\"devices-{name}\" data-devices=\"{name}\" aria-pressed=\"{is_chosen}\">\
             {label}</button>"
        )
    };
    let buttons: String = [(Devices::All, "All"), (Devices::Cpu, "CPU"), (Devices::Gpu, "GPU")].map(button).concat();
    format!("<div class=\"switch\" role=\"group\" aria-label=\"Devices\">{buttons}</div>")
}

fn rows(table: &MachineTable) -> String {
    let rows: String = table
        .best
        .iter()
        .filter_map(|place| Some(row(table, table.rows.get(*place)?, table.recommended == Some(*place))))
        .collect();
    let accuracy = if table.trained.is_empty() { "" } else { "<th scope=\"col\" class=\"wide\">Accuracy</th>" };
    format!(
        "<p class=\"says\">The best of each machine type, of {} configurations: the cheapest that meets the limits. Whole \
         machines are billed by the second, with the provider's minimum.</p><div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"machines-title\"><table data-testid=\"machine-table\"><thead><tr><th \
         scope=\"col\">Machines</th><th scope=\"col\" class=\"number\">Completion time</th><th scope=\"col\" class=\"number \
         wide\">90 % interval</th><th scope=\"col\" class=\"number\">Cost</th><th scope=\"col\" class=\"number \
         wide\">Probability</th>{accuracy}<th scope=\"col\" class=\"wide\"><span class=\"out-of-sight\">Remark</span></th></tr></thead>\
         <tbody>{rows}</tbody></table></div>{}",
        table.weighed,
        more(table.best.len()),
    )
}

/// Writes the button that shows all rows: the style sheet hides those after the first 12.
fn more(count: usize) -> String {
    const FEW: usize = 12;
    match count > FEW {
        true => format!(
            "<button type=\"button\" class=\"quiet\" data-more data-testid=\"machine-more\"><span class=\"few\">Show all \
             {count}</span><span class=\"every\">Show the first {FEW}</span></button>"
        ),
        false => String::new(),
    }
}

fn row(table: &MachineTable, row: &MachineRow, is_recommended: bool) -> String {
    let interval = row.interval_secs.map_or_else(
        || "unknown".to_owned(),
        |(lower, upper)| format!("{} – {}", format_duration(lower), format_duration(upper)),
    );
    let chance = row.success_probability.map(format_probability).unwrap_or_default();
    let accuracy = match table.trained.is_empty() {
        true => String::new(),
        false => format!("<td class=\"wide\">{}</td>", escaped(&row.accuracy)),
    };
    let verdict = match (is_recommended, row.is_feasible) {
        (true, _) => Some("recommended".to_owned()),
        (false, false) => Some("misses the limits".to_owned()),
        (false, true) => None,
    };
    let basis = row.borrowed_from.as_ref().filter(|_| row.is_feasible).map(|basis| format!("from {basis}"));
    let remark = [verdict, basis].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let class = match (is_recommended, row.is_feasible) {
        (true, _) => "recommended-row",
        (false, true) => "",
        (false, false) => "late",
    };
    let data = |name: &str, value: Option<f64>| value.map(|value| format!(" {name}=\"{value}\"")).unwrap_or_default();
    format!(
        "<tr class=\"{class}\" data-machine=\"{}\"><th scope=\"row\">{}</th><td class=\"number\"{}>{}</td><td \
         class=\"number wide\">{interval}</td><td class=\"number\"{}>{}</td><td class=\"number wide\">{}</td>{accuracy}<td \
         class=\"wide remark\">{remark}</td></tr>",
        escaped(&row.machine),
        escaped(&row.description_with_sizes),
        data("data-secs", row.secs),
        time(row),
        data("data-cost", row.cost),
        money(table, row),
        escaped(&chance),
    )
}

fn picture(table: &MachineTable, deadline_secs: Option<f64>) -> String {
    let picture = front::picture(table, deadline_secs).into_text();
    let key = |place, name: &str| format!("<span class=\"key line {}\">{}</span>", front::shade(place), escaped(name));
    let coloured = front::coloured(table);
    let mut keys: String = coloured.iter().enumerate().map(|(place, machine)| key(Some(place), machine)).collect();
    let others = table.types.len().saturating_sub(coloured.len());
    if others > 0 {
        keys.push_str(&key(None, &format!("{others} other machine types")));
    }
    let omitted: String = table.omitted.iter().map(|left| format!("<li>{}.</li>", escaped(left))).collect();
    let omitted = if omitted.is_empty() { omitted } else { format!("<ul class=\"warnings\">{omitted}</ul>") };
    format!("<figure class=\"machine-front\">{picture}</figure><p class=\"legend\">{keys}</p>{omitted}")
}

/// Writes the list of machine types, with their prices per hour.
fn list(table: &MachineTable, choice: &MachineChoice) -> String {
    let currency = escaped(&table.currency);
    let item = |kind: &TypePrice| {
        let name = escaped(&kind.machine);
        let checked = if choice.without.contains(&kind.machine) { "" } else { " checked" };
        let gpu = if kind.is_accelerated { " (GPU)" } else { "" };
        let price = match kind.hourly_price {
            Some(price) => format!(
                "<input type=\"text\" inputmode=\"decimal\" aria-label=\"{name}: price per hour\" data-price-of=\"{name}\" \
                 value=\"{price}\" /><span class=\"hush\">{currency} an hour</span>"
            ),
            None => "<span class=\"hush\">not in the catalog of prices</span>".to_owned(),
        };
        format!(
            "<li><label><input type=\"checkbox\" data-machine=\"{name}\"{checked} /> {name}{gpu}</label>{price}</li>"
        )
    };
    let items: String = table.types.iter().map(item).collect();
    let MachineChoice { without, prices, max_hourly_cost, spot, .. } = choice;
    // The list stays open once the user has changed it.
    let is_changed = !without.is_empty() || !prices.is_empty() || max_hourly_cost.is_some() || *spot;
    let open = if is_changed { " open" } else { "" };
    let most = max_hourly_cost.map(|most| most.to_string()).unwrap_or_default();
    let checked = if *spot { " checked" } else { "" };
    format!(
        "<details class=\"more\"{open}><summary data-testid=\"machine-choice\"><span class=\"edit\">Machine types and their \
         prices</span></summary><div class=\"picks\"><label>At most an hour for all machines, {currency} <input \
         type=\"text\" inputmode=\"decimal\" size=\"7\" data-hourly=\"\" placeholder=\"any\" value=\"{most}\" \
         /></label><label><input type=\"checkbox\" data-spot=\"\"{checked} /> Spot prices</label></div><p \
         class=\"note\">The provider may take spot machines back at any time; the plan assumes that it does not.</p><ul \
         class=\"machine-list\">{items}</ul></details>"
    )
}
