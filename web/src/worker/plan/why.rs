//! Explanations of every figure of a configuration, in words.

use foreglow_model::{
    Arm, Basis, Candidate, Explanation, Factors, Feature, Limits, Plan, Prediction, Predictor, Setting, Spread,
};
use foreglow_shared::{
    Job, PriceSheet, Rate, Resources, WhatIf, format_count, format_duration, format_money, format_percent,
    format_price, format_probability, format_rate,
};
use serde::{Deserialize, Serialize};

use crate::data::text::counted;

/// The explanation of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The figure.
    pub title: String,
    /// Sentences and formulas, one per line.
    pub lines: Vec<String>,
    /// The blended parts: name, weight and own prediction.
    pub parts: Vec<[String; 3]>,
    /// A command to copy.
    pub command: Option<String>,
}

impl Reason {
    pub(super) fn new(title: String, lines: Vec<String>) -> Self {
        Self { title, lines, parts: Vec::new(), command: None }
    }
}

/// A configuration whose figures are explained.
pub struct Explained<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// The configuration.
    pub candidate: &'a Candidate,
    /// Limits and start-up time.
    pub limits: &'a Limits,
}

impl Explained<'_> {
    fn rate(&self) -> Option<Rate> {
        let placement = self.candidate.placement;
        let pricing = self.plan.pricing(placement.arm);
        match (pricing.machine_type(), pricing.sheet()) {
            (Some(machine), _) => machine.rate(placement.machines, self.limits.spot, self.limits.startup_secs),
            (None, Some(sheet)) => sheet.rate(self.resources()),
            (None, None) => None,
        }
    }

    fn resources(&self) -> Resources {
        let placement = self.candidate.placement;
        let predictor = self.plan.predictor();
        let accelerated = predictor.arms()[placement.arm].accelerator.is_some();
        placement.resources(accelerated, predictor.job(placement.arm).context.shared_accelerators())
    }
}

/// Explains every figure of a configuration.
pub fn reasons(explained: &Explained<'_>) -> Vec<Reason> {
    let Explained { plan, candidate, .. } = explained;
    let arm = candidate.placement.arm;
    let counts =
        WhatIf { executors: candidate.placement.executors, cores_per_executor: candidate.placement.cores_per_executor };
    let prediction = &candidate.prediction;
    let Some(secs) = prediction.completion_time_secs else {
        let warnings = prediction.warnings.iter().map(|warning| format!("{warning}.")).collect();
        return vec![Reason::new("Completion time: unknown".into(), warnings)];
    };
    let setting = Setting::even(counts.executors, counts.cores_per_executor, plan.predictor().whole_job(arm));
    let mut reasons = Vec::new();
    match plan.predictor().own(arm).filter(|own| !own.is_simulated()) {
        Some(own) => {
            reasons.push(time(own, plan.predictor().job(arm), setting, secs));
            // On rented machines, executors do not share processors as on the measured one.
            let is_rented = plan.pricing(arm).machine_type().is_some();
            let factors = own.factors(setting).filter(|_| !is_rented);
            reasons.extend(self::factors(factors, counts, secs));
        }
        None => {
            let Arm { basis, runs, .. } = &plan.predictor().arms()[arm];
            let line = match basis {
                Basis::Simulated => format!(
                    "The tasks of the event logs of {}, in their order, on the slots of this configuration; and the line \
                     through these times at their amounts of work.",
                    format_count(*runs, "run")
                ),
                _ => {
                    let basis = basis.borrowed_from().unwrap_or("few runs");
                    format!("Predicted from {basis}, by one fit over all machine types.")
                }
            };
            reasons.push(Reason::new(format!("Completion time: {}", format_duration(secs)), vec![line]));
        }
    }
    reasons.push(interval(prediction, secs));
    reasons.extend(likelihood(explained, secs));
    reasons.push(cost(explained, secs));
    reasons
}

fn time(predictor: &Predictor, job: &Job, setting: Setting, secs: f64) -> Reason {
    let title = format!("Completion time: {}", format_duration(secs));
    let Some((explanation, instead)) = predictor.explain(setting) else {
        return Reason::new(
            title,
            vec!["All runs have the same setting, so the prediction is the measured time.".into()],
        );
    };
    let Explanation { parts, beyond, fitted, held_out, median_error_percent } = explanation;
    let mut lines = vec![format!(
        "Predicted from {} runs of {fitted} different settings by a blend of {} models.",
        job.observations.len(),
        parts.len()
    )];
    if let Some(instead) = instead {
        lines.push(format!(
            "This machine has too few processors for {} slots: the time is that of {} × {}, the fastest that fits.",
            setting.slots(),
            instead.executors,
            instead.cores_per_executor
        ));
    }
    lines.push(match median_error_percent {
        Some(percent) if beyond.is_empty() => format!(
            "Their weights come from {held_out} settings within the measured range, each predicted by a fit without it; the \
             median error of these predictions is {}.",
            format_percent(percent)
        ),
        Some(percent) => format!(
            "The question extrapolates in {}. The weights therefore come from predicting the outermost {held_out} settings \
             from the others; the median error of these predictions is {}.",
            beyond.join(" and "),
            format_percent(percent)
        ),
        None => "There are too few settings to hold any out, so the weights come from the fit itself.".into(),
    });
    let log_blend: f64 = parts.iter().map(|part| part.weight * libm::log(part.secs)).sum();
    let slowdown = secs / libm::exp(log_blend);
    if instead.is_some() && (slowdown - 1.0).abs() > 0.005 {
        lines.push(format!("Runs with too many slots took {slowdown:.2} times as long as such a configuration."));
    }
    lines.push("The blend is the weighted mean of the logarithms of their predictions:".into());
    let row = |part: foreglow_model::Part| [part.name, format_percent(part.weight * 100.0), format_duration(part.secs)];
    Reason { parts: parts.into_iter().map(row).collect(), ..Reason::new(title, lines) }
}

/// The prediction as the time of 1 × 1 times one factor per feature.
fn factors(factors: Option<Factors>, what_if: WhatIf, secs: f64) -> Option<Reason> {
    let Factors { smallest_secs, factors } = factors?;
    let words = factors.iter().map(|(feature, factor)| match feature {
        Feature::InverseExecutors => format!("×{factor:.4} for {}", counted(what_if.executors, "executor")),
        _ => format!("×{factor:.4} for {}", counted(what_if.cores_per_executor, "core")),
    });
    let words: Vec<String> = words.collect();
    let sum = format!("{} on 1 × 1, {} = {}", format_duration(smallest_secs), words.join(", "), format_duration(secs));
    Some(Reason::new("Effect of each resource".into(), vec![sum]))
}

fn interval(prediction: &Prediction, secs: f64) -> Reason {
    let Some(interval) = prediction.interval else {
        return Reason::new(
            "No interval".into(),
            vec!["There are too few runs to estimate the error of the prediction; collect more.".into()],
        );
    };
    let (lower, upper) = (interval.lower_secs, interval.upper_secs);
    let title = format!("Interval: {} to {}", format_duration(lower), format_duration(upper));
    let mut lines = vec![format!(
        "{} × {:.3} and × {:.3}: in {} of 100 such cases the time is between these.",
        format_duration(secs),
        lower / secs,
        upper / secs,
        (interval.probability * 100.0).round()
    )];
    lines.extend(prediction.spread.as_ref().map(source_of));
    Reason::new(title, lines)
}

/// The sentence on how the interval was computed.
fn source_of(spread: &Spread) -> String {
    match spread {
        Spread::Conformal { errors } => {
            format!("The factors are quantiles of {} held-out errors.", errors.as_slice().len())
        }
        Spread::StudentT { scale, degrees_of_freedom } => format!(
            "There are few held-out errors, so the error in log time is modelled by Student's t distribution with a scale of \
             {} and {degrees_of_freedom} degrees of freedom; the scale grows with the distance from the measured settings.",
            format_percent(scale * 100.0)
        ),
    }
}

fn likelihood(explained: &Explained<'_>, secs: f64) -> Option<Reason> {
    let Explained { plan, candidate, limits } = explained;
    let arm = candidate.placement.arm;
    let mut lines = Vec::new();
    let mut least: Option<f64> = None;
    let mut limit = |limit_secs: f64, words: String| {
        let chance = plan.predictor().chance(arm, candidate.split(), &candidate.prediction, limit_secs);
        let Some(probability) = chance else { return };
        least = Some(least.map_or(probability, |least| least.min(probability)));
        lines.push(format!(
            "{words}, {:.3} times the predicted time: the probability to stay below that is {}.",
            limit_secs / secs,
            format_probability(probability)
        ));
    };
    if let Some(deadline) = limits.deadline_secs {
        limit(deadline, format!("The deadline is {}", format_duration(deadline)));
    }
    if let Some((budget, rate)) = limits.budget.zip(explained.rate()) {
        let affordable = rate.affordable_secs(budget).unwrap_or(0.0);
        let budget = format_price(budget, plan.currency());
        limit(affordable, format!("{budget} pays for {}", format_duration(affordable)));
    }
    least.map(|least| Reason::new(format!("Probability: {}", format_probability(least)), lines))
}

fn cost(explained: &Explained<'_>, secs: f64) -> Reason {
    let placement = explained.candidate.placement;
    let pricing = explained.plan.pricing(placement.arm);
    match (pricing.sheet(), pricing.machine_type(), explained.rate()) {
        (Some(sheet), ..) => {
            match sheet.check_for(explained.plan.predictor().arms()[placement.arm].accelerator.as_deref()) {
                Ok(()) => {
                    let context = &explained.plan.predictor().job(placement.arm).context;
                    let slow = context.host.describe_slow_cores();
                    let slow = slow.map(|cores| format!("It has {cores}, and each is charged as such."));
                    let mut reason = money(sheet, explained.resources(), secs);
                    reason.lines.extend(slow);
                    reason
                }
                Err(reason) => Reason::new("Cost: unknown".into(), vec![format!("It cannot be said: {reason}.")]),
            }
        }
        (None, Some(machine), Some(rate)) => {
            let (cost, currency) = (rate.cost(secs), explained.plan.currency());
            let line = format!(
                "{} × {} at {:.6} an hour in all, billed for {:.2} s with start-up and the provider's minimum = {}",
                placement.machines,
                machine.name,
                rate.hourly(),
                rate.billed_secs(secs),
                format_price(cost, currency),
            );
            Reason::new(format!("Cost: {}", format_money(cost, currency)), vec![line])
        }
        _ => Reason::new("Cost: unknown".into(), vec!["No price of these machines is known.".into()]),
    }
}

fn money(prices: &PriceSheet, resources: Resources, secs: f64) -> Reason {
    let currency = &prices.currency;
    let amounts = prices.terms(resources);
    let terms = || amounts.into_iter().zip(["executor", "cores", "GiB", "accelerator"]);
    let terms = || terms().filter(|((price, amount), _)| price * amount > 0.0);
    let hour: f64 = terms().map(|((price, amount), _)| price * amount).sum();
    let words: Vec<String> = terms().map(|((price, amount), what)| format!("{amount} {what} × {price}")).collect();
    let mut lines = vec![format!("An executor costs {} = {currency} {hour:.6} an hour.", words.join(" + "))];
    let billed = prices.rate(resources).map_or(secs, |rate| rate.billed_secs(secs));
    if prices.startup_secs > 0.0 {
        lines.push(format!("It is also billed for {} of start-up.", format_duration(prices.startup_secs)));
    }
    if billed == prices.minimum_secs && billed > 0.0 {
        lines.push(format!("It is billed for at least {}, which is longer than the run.", format_duration(billed)));
    }
    let start = prices.executor_start * amounts[0].1;
    let start = if start > 0.0 { format!(" + {start} for its start") } else { String::new() };
    let off =
        if prices.discount > 0.0 { format!(" × (1 − {})", format_rate(prices.discount)) } else { String::new() };
    let total = prices.cost(resources, secs).unwrap_or(f64::NAN);
    lines.push(format!(
        "{} × ({hour:.6} × {billed:.2} s ÷ 3600{start}){off} = {}",
        match resources.split.executors {
            1 => "1 executor".to_owned(),
            count => format!("{count} executors"),
        },
        format_price(total, currency),
    ));
    lines.push(format!("Prices: {}, as of {}.", prices.name, prices.date));
    Reason::new(format!("Cost: {}", format_money(total, currency)), lines)
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Context, CoreSplit, Observation, Question};

    use super::*;

    fn job() -> Job {
        let context: Context = serde_json::from_str(
            r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
                "engine":"spark","host":{}}"#,
        )
        .unwrap();
        let run = |(executors, cores_per_executor, sampling_rate): (u32, u32, f64)| Observation {
            executors,
            cores_per_executor,
            total_cores: None,
            memory_per_executor_mib: 2048,
            partition_size: 8,
            sampling_rate,
            completion_time_secs: 720.0 * sampling_rate / f64::from(executors * cores_per_executor) + 0.2,
            startup_secs: None,
            disturbed: false,
            log_error: 0.0,
        };
        let grid = [(1, 1), (1, 2), (2, 1), (2, 2)].into_iter().flat_map(|(e, c)| [0.01, 0.1, 1.0].map(|r| (e, c, r)));
        Job::of_runs(context, grid.map(run).collect())
    }

    /// The time and the explanation of 2 executors with 1 core.
    fn explained(question: &Question) -> (f64, Vec<Reason>) {
        let mut question = question.clone();
        (question.executors, question.cores_per_executor) = (vec![2], vec![1]);
        let plan = Plan::from_context(Predictor::fit_job(&job()).unwrap(), &job(), &question).unwrap();
        let limits = Limits::of(&question);
        let candidate = plan.decide(&limits).unwrap().candidates.remove(0);
        let secs = candidate.prediction.completion_time_secs.unwrap();
        (secs, reasons(&Explained { plan: &plan, candidate: &candidate, limits: &limits }))
    }

    #[test]
    fn every_figure_of_a_configuration_is_explained_with_its_own_numbers() {
        let mut question = Question::about(&job().observations);
        question.deadline_secs = Some(400.0);
        let (secs, reasons) = explained(&question);
        let titles: Vec<&str> = reasons.iter().map(|reason| reason.title.split(':').next().unwrap()).collect();
        assert_eq!(titles, ["Completion time", "Effect of each resource", "Interval", "Probability", "Cost"]);
        assert!(reasons[0].title.ends_with(&format_duration(secs)));
        assert!(reasons[0].lines[0].contains("12 runs of 12 different settings"), "{:?}", reasons[0].lines);
        assert!(reasons[0].parts.len() > 1);
        let cost = question.prices.cost(
            Resources {
                split: CoreSplit::even(2, 1),
                memory_per_executor_mib: 2048,
                accelerated: false,
                shared_accelerators: None,
            },
            secs,
        );
        assert!(reasons[4].title.ends_with(&format_money(cost.unwrap(), "USD")));
        assert!(reasons[4].lines[0].contains("1 cores × 0.04048 + 2 GiB × 0.004445"), "{:?}", reasons[4].lines);
    }

    #[test]
    fn the_money_formula_includes_the_minimum_the_start_fee_and_the_discount() {
        let mut question = Question::about(&job().observations);
        question.prices.minimum_secs = 1e5;
        question.prices.executor_start = 0.5;
        question.prices.discount = 0.25;
        let money = explained(&question).1.pop().unwrap();
        let sum = money.lines.join("\n");
        for words in ["at least 27 h 46 min 40 s", "+ 0.5 for its start", "× (1 − 25 %)", &money.title[6..]] {
            assert!(sum.contains(words), "{words} in {sum}");
        }
    }
}
