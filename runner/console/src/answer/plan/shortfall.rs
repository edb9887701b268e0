//! Why no configuration is recommended.

use foreglow_model::{Limits, Objective, Omission};
use foreglow_shared::{format_duration, format_probability};

use super::{PlanAnswer, Row};
use crate::answer::accuracy::Inaccuracy;

impl PlanAnswer {
    /// Fails with the reason if nothing is recommended.
    ///
    /// # Errors
    /// No configuration meets the limits, none fits into its memory, or no time is known.
    pub fn check(&self) -> anyhow::Result<()> {
        match (&self.recommended, &self.fastest) {
            (Some(_), _) => Ok(()),
            (None, Some(fastest)) => anyhow::bail!("{}", self.shortfall(fastest)),
            (None, None) => anyhow::bail!("{}", self.nothing_compared()),
        }
    }

    /// Returns why no configuration can be compared.
    fn nothing_compared(&self) -> String {
        let excluded = self.candidates.iter().find_map(|row| row.exclusion.as_ref());
        if let (Some(exclusion), false) = (excluded.filter(|one| one.is_about_memory()), self.compares_arms()) {
            return format!("no configuration is known to fit into its memory: {exclusion}");
        }
        let reasons: Vec<String> =
            self.omitted.iter().map(|omission| format!("{}: {}", omission.machine, omission.reason)).collect();
        let reasons = match reasons.as_slice() {
            [] => "no time can be predicted; collect more samples".to_owned(),
            reasons => reasons.join("\n"),
        };
        // The omitted batch sizes have names such as `batch size 16`.
        let is_of_batch = |omission: &Omission| omission.machine.starts_with("batch size ");
        let model = &self.job.model;
        let by_layers = match self.omitted.iter().any(is_of_batch) {
            true => format!("\nwith --model {model}, plan predicts one other batch size from the costs of the layers"),
            false => String::new(),
        };
        format!("no configuration can be compared:\n{reasons}{by_layers}")
    }

    /// Explains why no configuration is recommended.
    fn shortfall(&self, fastest: &Row) -> String {
        let Limits { deadline_secs, budget, max_hourly_cost, .. } = self.limits;
        if let Some(reason) = self.inaccuracy() {
            return reason;
        }
        if let (Some(budget), Some(reason)) = (budget, &self.cost_unknown) {
            return format!("no configuration is known to cost at most {}: {reason}", self.amount(budget));
        }
        if let Some(deadline) = deadline_secs.filter(|deadline| !fastest.takes_at_most(*deadline)) {
            return format!(
                "no configuration is predicted to meet the deadline of {}: the fastest, {}, takes {}; allow more time, \
                 offer larger configurations with --executors and --cores, or measure a faster machine type",
                format_duration(deadline),
                self.name(fastest),
                fastest.exact_time()
            );
        }
        if let Some(most) = max_hourly_cost {
            match self.least_hourly_cost {
                Some(least) if least > most => {
                    return format!(
                        "no configuration costs at most {} an hour: the cheapest machines cost {}; raise \
                         --max-hourly-cost",
                        self.amount(most),
                        self.amount(least)
                    );
                }
                None => {
                    let reason = self.cost_unknown.as_deref().unwrap_or("no price is known");
                    return format!(
                        "no configuration is known to cost at most {} an hour: {reason}",
                        self.amount(most)
                    );
                }
                Some(_) => {}
            }
        }
        match &self.cheapest {
            Some(cheapest) => self.shortfall_of_money(fastest, cheapest),
            None => format!(
                "which configuration is the cheapest is unknown: {}",
                self.cost_unknown.as_deref().unwrap_or("no price is known")
            ),
        }
    }

    /// Explains why no configuration keeps the budget, or is certain enough.
    fn shortfall_of_money(&self, fastest: &Row, cheapest: &Row) -> String {
        if let Some(budget) = self.limits.budget.filter(|budget| !cheapest.costs_at_most(*budget)) {
            return format!(
                "no configuration is predicted to cost at most {}: the cheapest, {}, costs {}; allow more money, or offer \
                 smaller configurations with --executors and --cores",
                self.amount(budget),
                self.name(cheapest),
                self.exact_money(cheapest)
            );
        }
        let (machines, limits) = (self.on_machines(), self.describe_limits().unwrap_or_else(|| "known".to_owned()));
        if !self.candidates.iter().any(|row| self.is_predicted_to_keep(row)) {
            return format!(
                "no configuration{machines} is predicted to be {limits}: the fastest, {}, takes {} and costs {}, the \
                 cheapest, {}, takes {} and costs {}; allow more time or more money",
                self.name(fastest),
                fastest.exact_time(),
                self.exact_money(fastest),
                self.name(cheapest),
                cheapest.exact_time(),
                self.exact_money(cheapest)
            );
        }
        match self.likeliest.as_ref().and_then(|row| Some((row, row.success_probability?))) {
            Some((row, most)) => {
                let (asked, most) = told_apart(self.limits.probability, most);
                format!(
                    "no configuration{machines} is {limits} with a probability of {asked}: the samples support at most \
                     {most}, for {}; lower --probability, relax the limits, or collect more samples (`foreglow advise` \
                     says which)",
                    self.name(row)
                )
            }
            None => format!(
                "there are too few samples for the probability that a configuration is {limits}; collect more (`foreglow \
                 advise` says which), or decide by the predicted time with --probability 0.5"
            ),
        }
    }

    /// Returns whether the predicted time meets the deadline and the budget, regardless of its
    /// probability.
    pub(super) fn is_predicted_to_keep(&self, row: &Row) -> bool {
        row.exclusion.is_none()
            && self.limits.deadline_secs.is_none_or(|deadline| row.takes_at_most(deadline))
            && self.limits.budget.is_none_or(|budget| row.costs_at_most(budget))
    }

    /// Returns why no configuration is accurate enough, or meets the other limits as well; `None`
    /// without a minimum accuracy.
    fn inaccuracy(&self) -> Option<String> {
        let possible = || self.candidates.iter().filter(|row| row.objective.is_some() && row.exclusion.is_none());
        let measured = |row: &Row| Some((self.name(row), row.accuracy.clone()?));
        let accurate = possible().filter(|row| row.keeps_accuracy);
        let secs = |row: &&Row| row.completion_time_secs.unwrap_or(f64::INFINITY);
        let fastest = accurate.min_by(|a, b| secs(a).total_cmp(&secs(b)));
        let inaccuracy = Inaccuracy {
            least: self.limits.min_accuracy?,
            limits: self.describe_limits(),
            fastest: fastest.map(|row| (self.name(row), row.time())),
            measured: possible().filter_map(measured).collect(),
            unknown: self.accuracy_unknown,
        };
        Some(inaccuracy.describe())
    }

    /// Returns the name of the quantity that ranks the configurations.
    pub(super) fn best(&self) -> &'static str {
        match (self.limits.deadline_secs, self.limits.budget, self.objective) {
            (None, Some(_), _) | (_, _, Objective::Time) => "fastest configuration",
            (_, _, Objective::Cost) => "cheapest configuration",
            (_, _, Objective::ExecutorHours) => "configuration of the fewest executor-hours",
        }
    }
}

/// Formats two probabilities with enough digits to distinguish them.
fn told_apart(one: f64, other: f64) -> (String, String) {
    let texts = (format_probability(one), format_probability(other));
    if texts.0 != texts.1 {
        return texts;
    }
    // Truncates instead of rounding: a probability is never rounded up.
    let cut = |probability: f64, decimals: usize| {
        let unit = (0..decimals).fold(1.0, |unit: f64, _| unit * 10.0);
        (probability * 100.0 * unit + 1e-6).floor() / unit
    };
    let percent = |probability: f64, decimals: usize| format!("{:.decimals$} %", cut(probability, decimals));
    let both = |decimals| (percent(one, decimals), percent(other, decimals));
    (1..9).map(both).find(|(one, other)| one != other).unwrap_or_else(|| both(9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_that_print_alike_get_the_digits_that_tell_them_apart() {
        assert_eq!(told_apart(0.99, 0.9), ("99 %".into(), "90 %".into()));
        assert_eq!(told_apart(0.999, 0.9952), ("99.9 %".into(), "99.5 %".into()));
        assert_eq!(told_apart(0.99999, 0.99995), ("99.999 %".into(), "99.995 %".into()));
    }
}
