//! The what-if over machine types as HTML.

use foreglow_shared::{format_duration, format_money, format_probability};

use super::pick::Picked;
use super::{MachineRow, MachineTable};
use crate::data::machine_choice::MachinePick;
use crate::data::text::escaped;

/// Writes the controls and the answer.
pub fn picked(table: &MachineTable, picked: &Picked, pick: &MachinePick) -> String {
    let memory = pick.memory_per_executor_mib.map(|mib| mib.to_string()).unwrap_or_default();
    let sizes = |label: &str, name: &str, measured: &[u32], chosen: u32| {
        let options = measured.iter().map(|size| (size.to_string(), *size == chosen));
        select(label, name, &options.collect::<Vec<_>>(), &[])
    };
    format!(
        "<h3 id=\"pick-title\">What if</h3><div class=\"picks\" role=\"group\" aria-labelledby=\"pick-title\">{}{}{}<label>Memory \
         per executor, MiB <input type=\"text\" inputmode=\"numeric\" size=\"7\" data-pick=\"memory\" placeholder=\"as \
         needed\" value=\"{memory}\" /></label></div>{}",
        machines(table, picked),
        sizes("Batch size", "batch", &table.batch_sizes, picked.batch_size),
        sizes("Partition size", "partition", &table.partition_sizes, picked.partition_size),
        answer(picked, &table.currency),
    )
}

/// Writes the list of machine types: the measured ones, and the others of the catalog.
fn machines(table: &MachineTable, picked: &Picked) -> String {
    let option = |name: &str| (escaped(name), name == picked.machine);
    let measured: Vec<(String, bool)> = table.types.iter().map(|kind| option(&kind.machine)).collect();
    let others: Vec<(String, bool)> = table.unmeasured.iter().map(|name| option(name)).collect();
    select("Machine type", "machine", &measured, &others)
}

/// Writes a list to select from, if there is more than one entry. Unmeasured entries form a
/// separate group.
fn select(label: &str, name: &str, measured: &[(String, bool)], others: &[(String, bool)]) -> String {
    let list = |options: &[(String, bool)]| {
        let option = |(option, is_selected): &(String, bool)| {
            let selected = if *is_selected { " selected" } else { "" };
            format!("<option value=\"{option}\"{selected}>{option}</option>")
        };
        options.iter().map(option).collect::<String>()
    };
    let options = match (measured.len(), others.len()) {
        (0 | 1, 0) => return String::new(),
        (_, 0) => list(measured),
        _ => format!(
            "<optgroup label=\"Measured\">{}</optgroup><optgroup label=\"Not measured\">{}</optgroup>",
            list(measured),
            list(others)
        ),
    };
    format!("<label>{label} <select data-pick=\"{name}\">{options}</select></label>")
}

fn answer(picked: &Picked, currency: &str) -> String {
    let row = match &picked.outcome {
        Ok(row) => row,
        Err(reason) => {
            let (executors, cores) = (picked.what_if.executors, picked.what_if.cores_per_executor);
            let plural = |count: u32| if count == 1 { "" } else { "s" };
            return format!(
                "<p class=\"reason\" role=\"status\" data-testid=\"picked\">{}, {executors} executor{} of {cores} core{}: {}.</p>",
                escaped(&picked.machine),
                plural(executors),
                plural(cores),
                escaped(reason),
            );
        }
    };
    let warnings: String = picked.warnings.iter().map(|warning| format!("<li>{}.</li>", escaped(warning))).collect();
    let warnings = if warnings.is_empty() { warnings } else { format!("<ul class=\"warnings\">{warnings}</ul>") };
    format!(
        "<p role=\"status\" data-testid=\"picked\" data-secs=\"{}\" data-cost=\"{}\"><strong>{}</strong>, batch size {}, partition \
         size {}, {} MiB each: {}</p>{warnings}",
        row.secs.unwrap_or_default(),
        row.cost.unwrap_or_default(),
        escaped(&row.description),
        row.batch_size,
        picked.partition_size,
        row.memory_per_executor_mib,
        escaped(&figures(row, currency)),
    )
}

/// Writes time, interval, cost, probability and basis:
/// `4 min (3 min – 5 min), USD 0.09, probability 95 %`.
fn figures(row: &MachineRow, currency: &str) -> String {
    let time = row.secs.map_or_else(|| "unknown".to_owned(), format_duration);
    let interval = row
        .interval_secs
        .map(|(lower, upper)| format!(" ({} – {}, 90 % interval)", format_duration(lower), format_duration(upper)));
    let money = row.cost.map_or_else(|| "unknown cost".to_owned(), |cost| format_money(cost, currency));
    let chance = row.success_probability.map(|chance| format!(", probability {}", format_probability(chance)));
    let basis = row.borrowed_from.as_ref().map(|basis| format!("; from {basis}"));
    format!(
        "{time}{}, {money}{}{}",
        interval.unwrap_or_default(),
        chance.unwrap_or_default(),
        basis.unwrap_or_default()
    )
}
