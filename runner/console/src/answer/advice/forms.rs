//! Advice as text and CSV.

use foreglow_model::{LEAST_SAVING, Objective, Suggestion, Verdict, format_cost, format_time};
use foreglow_shared::{Estimate, format_probability, format_rate};
use serde::Serialize;

use super::command::OWN_PROGRAM;
use super::{AdviceAnswer, LeftOut, ProposedRun};
use crate::answer::cost_note;
use crate::output::Format;
use crate::table::{aligned, csv_of, titled_table};

/// Limit on the runs in a table.
const FEW: usize = 8;
/// Factor of the interval up to which a time counts as well known.
const WELL_KNOWN: f64 = 1.1;

/// A row of the CSV.
#[derive(Serialize)]
struct Priced<'a> {
    #[serde(flatten)]
    row: &'a ProposedRun,
    currency: &'a str,
}

impl AdviceAnswer {
    /// Renders the answer in a format.
    pub fn render(&self, format: Format) -> String {
        format.render(self, Self::table, Self::csv)
    }

    fn table(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.title, self.headline());
        text.push_str(&self.commands());
        if self.goes_on() && !self.suggestions.is_empty() {
            text.push_str(&self.table_of_runs());
        }
        for LeftOut { machine, reason } in &self.left_out {
            text.push_str(&format!("\nNot proposed: {machine}: {reason}.\n"));
        }
        if !self.asks_new_machines && self.suggests_machines() {
            text.push_str(
                "\nOnly machine types that were measured are considered; name others with --machines (`foreglow machines` \
                 lists them) or --catalog.\n",
            );
        }
        text.push_str(&self.cost_unknown.as_deref().map_or_else(String::new, cost_note));
        text
    }

    fn goes_on(&self) -> bool {
        matches!(self.verdict, Verdict::First { .. } | Verdict::GoOn)
    }

    /// Returns whether to stop or go on, and why.
    fn headline(&self) -> String {
        let least = format!("{:.0} %", LEAST_SAVING * 100.0);
        match (&self.verdict, self.best(), self.expected_saving) {
            (Verdict::First { reason }, ..) => format!("FIRST SAMPLES: {reason}."),
            (Verdict::GoOn, Some(best), Some(saving)) => format!(
                "CONTINUE: so far the best is {best}. A further run is expected to save up to {} of its {}.",
                share_saved(saving),
                self.saved()
            ),
            (Verdict::GoOn, ..) => format!(
                "CONTINUE: no configuration is known yet to meet the limits with a probability of {}.",
                format_rate(self.limits.probability)
            ),
            (_, Some(best), _) => format!(
                "STOP: use {best}. No further run is expected to save {least} of its {} or more.{} `foreglow plan` shows the \
                 configuration.",
                self.saved(),
                self.known_to()
            ),
            (_, None, _) if self.limits.min_accuracy.is_some() => {
                "STOP: no configuration that is known to be as accurate meets the limits, and no run that could be made is \
                 expected to change that. Only trainings on all images tell the accuracy; `foreglow plan` lists those that \
                 were made."
                    .to_owned()
            }
            (_, None, _) => {
                "STOP: nothing meets the limits, and no run that could be made is expected to change that. Relax the \
                 limits, or offer other machine types with --machines or --catalog."
                    .to_owned()
            }
        }
    }

    /// Returns the recommended configuration with its time and cost.
    fn best(&self) -> Option<String> {
        let (best, secs) = self.recommended.as_ref().zip(self.recommended_secs)?;
        let interval = self.recommended_interval.as_ref();
        let time = format_time(Some(secs), interval);
        Some(match self.recommended_cost {
            Some(_) => {
                let cost = format_cost(self.recommended_cost, Some(secs), interval, &self.currency);
                format!("{best} ({time}, {cost})")
            }
            None if self.saves == Objective::Time => format!("{best} ({time}, the fastest: no price is known)"),
            None => format!("{best} ({time})"),
        })
    }

    /// Returns how well the time of the recommended configuration is known; empty if it is known to
    /// a tenth.
    fn known_to(&self) -> String {
        let Some((interval, secs)) = self.recommended_interval.zip(self.recommended_secs) else {
            return " The choice is settled, but too few runs tell how long it takes; repeat some.".to_owned();
        };
        let factor = (interval.upper_secs / secs).max(secs / interval.lower_secs);
        if factor <= WELL_KNOWN {
            return String::new();
        }
        format!(
            " The choice is settled; its time is known to × or ÷ {factor:.2}: a run of it at a larger sampling rate tells more."
        )
    }

    /// Whether other machine types could be measured: some are named, or several are compared.
    fn suggests_machines(&self) -> bool {
        self.is_on_named_machines
    }

    /// Returns the noun for the saving: money or time.
    fn saved(&self) -> &'static str {
        match self.saves {
            Objective::Cost => "cost",
            Objective::ExecutorHours => "executor-hours",
            Objective::Time => "time",
        }
    }

    /// Returns the commands to run next, each with the machine type to run it on.
    fn commands(&self) -> String {
        let runs = match self.verdict {
            Verdict::First { .. } => &self.suggestions[..],
            Verdict::GoOn => &self.suggestions[..self.suggestions.len().min(1)],
            _ => return String::new(),
        };
        let mut text = String::new();
        for of_machine in runs.chunk_by(|a, b| a.run.machine == b.run.machine) {
            let Suggestion { machine, is_new_machine, .. } = &of_machine[0].run;
            let never = if *is_new_machine { ", where the job never ran" } else { "" };
            let what = if of_machine.len() > 1 { "these" } else { "this" };
            text.push_str(&format!("\nRun {what} on {machine}{never}, then ask again:\n"));
            for row in of_machine {
                match &row.command {
                    Some(command) => text.push_str(&format!("  {command}\n")),
                    None => text.push_str(&format!(
                        "  {}: Foreglow cannot measure this job itself, so run it and import the sample\n",
                        row.configuration()
                    )),
                }
            }
        }
        if let (Verdict::GoOn, [first, ..]) = (&self.verdict, runs) {
            text.push_str(&self.why(&first.run));
        }
        if !runs.is_empty() {
            text.push_str(self.data_note.as_deref().unwrap_or_default());
            if self.is_on_spark {
                text.push_str(OWN_PROGRAM);
            }
        }
        text
    }

    /// Returns the expected cost and benefit of a run.
    fn why(&self, run: &Suggestion) -> String {
        let time = run.secs.map_or_else(|| "an unknown time".to_owned(), roughly);
        let cost = run.cost.map(|cost| format!(" and cost {}", self.roughly_money(cost)));
        let brings = match (run.expected_saving, self.recommended_secs) {
            (Some(saving), Some(secs)) => {
                let amount = match (self.saves, self.recommended_cost) {
                    (Objective::Cost, Some(cost)) => self.roughly_money(saving * cost),
                    _ => roughly(saving * secs),
                };
                let share = share_saved(saving);
                format!("save {amount} ({share}) each time that the whole job runs")
            }
            (Some(chance), None) => {
                format!(
                    "find a configuration that meets the limits with a probability of {}",
                    format_probability(chance)
                )
            }
            (None, _) => "make predictions possible".to_owned(),
        };
        format!("The run is expected to take {time}{}, and to {brings}.\n", cost.unwrap_or_default())
    }

    fn table_of_runs(&self) -> String {
        let several = self.suggestions.iter().any(|row| row.run.average_every != self.suggestions[0].run.average_every);
        let brings = match (&self.verdict, &self.recommended) {
            (Verdict::First { .. }, _) => "",
            (_, Some(_)) => "expected saving",
            (_, None) => "probability",
        };
        let columns = aligned([
            "<machine type",
            "executors",
            "cores",
            "batch",
            if several { "averaged every" } else { "" },
            "sampling rate",
            "time to collect",
            "cost",
            brings,
        ]);
        let rows = self.suggestions.iter().take(FEW).map(|row| self.cells(&row.run));
        let order = match (&self.verdict, self.suggestions[0].run.cost) {
            (Verdict::First { .. }, _) => "",
            (_, Some(_)) => ", by what they bring for their cost",
            (_, None) => ", by what they bring for their time",
        };
        let mut text = format!("\nRuns that can be made{order}:\n{}", titled_table(&columns, rows));
        let left = self.suggestions.len().saturating_sub(FEW);
        if left > 0 {
            text.push_str(&format!("… and {left} more (--format csv lists all)\n"));
        }
        text
    }

    fn cells(&self, row: &Suggestion) -> Vec<String> {
        let unknown = || "unknown".to_owned();
        let saving = match &self.recommended {
            Some(_) => row.expected_saving.map(share_saved),
            None => row.expected_saving.map(format_probability),
        };
        vec![
            if row.is_new_machine { format!("{} (new)", row.machine) } else { row.machine.clone() },
            row.executors.to_string(),
            row.cores_per_executor.to_string(),
            row.batch_size.to_string(),
            row.average_every.map_or_else(String::new, |every| every.to_string()),
            format_rate(row.sampling_rate),
            row.secs.map_or_else(unknown, roughly),
            row.cost.map_or_else(unknown, |cost| self.roughly_money(cost)),
            saving.unwrap_or_default(),
        ]
    }

    fn roughly_money(&self, amount: f64) -> String {
        Estimate::rough(amount).money(&self.currency)
    }

    fn csv(&self) -> String {
        let columns = "machine,is_new_machine,executors,cores_per_executor,memory_per_executor_mib,batch_size,\
            average_every,partition_size,sampling_rate,secs,cost,currency,expected_saving,command";
        csv_of(columns, self.suggestions.iter().map(|row| Priced { row, currency: &self.currency }))
    }
}

fn roughly(secs: f64) -> String {
    Estimate::rough(secs).duration()
}

/// Formats an expected saving with two digits, because it is itself an estimate.
fn share_saved(share: f64) -> String {
    Estimate::rough(share * 100.0).percent()
}

impl ProposedRun {
    fn configuration(&self) -> String {
        let Suggestion { executors, cores_per_executor, batch_size, sampling_rate, .. } = &self.run;
        let rate = format_rate(*sampling_rate);
        format!("--executors {executors} --cores {cores_per_executor}, batch size {batch_size}, sampling rate {rate}")
    }
}
