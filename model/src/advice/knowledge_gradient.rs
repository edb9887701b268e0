//! The expected saving of a run: the knowledge gradient (Frazier, Powell and Dayanik, "The
//! knowledge-gradient policy for correlated normal beliefs", INFORMS Journal on Computing 21(4),
//! 2009).

use foreglow_numeric::median;

use foreglow_shared::sort_by;

use super::ONE_DEVIATION;
use super::belief::{Belief, Known, Point};
use super::experiments::{Choice, Experiments, Run};
use crate::chance::above;
use crate::plan::Timed;
use crate::plan::limits::{is_in_time, keeps_budget};
use crate::{Limits, Spread};

/// Number of outcomes of a run, as quantiles of equal probability.
const OUTCOMES: usize = 16;
/// Limit on the configurations that may turn out to be the best.
const MOST_CONTENDERS: usize = 150;
/// Number of standard deviations by which a configuration may turn out to be better than expected.
const OPTIMISM: f64 = 2.5;
/// Degrees of freedom from which on Student's t is practically a normal distribution.
const NORMAL: f64 = 1e7;

/// The recommended configuration and those that may turn out to be better.
pub(super) struct KnowledgeGradient<'a> {
    experiments: &'a Experiments<'a>,
    belief: &'a Belief,
    limits: Limits,
    /// Distance of the late time above the expected one, standard deviations.
    late_deviations: f64,
    /// Whether the plan's objective is saved; otherwise time.
    pub(super) saves_objective: bool,
    best: Option<Contender<'a>>,
    contenders: Vec<Contender<'a>>,
    /// For each site, the standard deviation of the predictor's times as a share of the belief's,
    /// at most 1. Where the predictor is surer than the belief, a run changes less.
    shares_of_deviation: Vec<f64>,
    /// Standard normal quantiles.
    outcomes: Vec<f64>,
}

/// A configuration that is the best, or may turn out to be.
struct Contender<'a> {
    choice: &'a Choice,
    known: Known,
    /// Standard deviation of ln t by the predictor; `None` if unknown.
    deviation: Option<f64>,
    /// ln of the late time, which is exceeded too rarely to matter, as a share of the expected one,
    /// by the predictor; `None` if unknown.
    late_log: Option<f64>,
}

impl<'a> KnowledgeGradient<'a> {
    /// `best` is the place of the recommended configuration among the choices.
    pub(super) fn new(
        experiments: &'a Experiments<'a>,
        belief: &'a Belief,
        choices: &'a [Choice],
        best: Option<usize>,
        limits: Limits,
    ) -> Self {
        let has_price = choices.iter().any(|choice| choice.rate.is_some());
        let quantile = |probability: f64| {
            Spread::student_t(1.0, NORMAL).map_or(0.0, |spread| libm::log(spread.quantile(probability)))
        };
        let outcomes = (0..OUTCOMES).map(|place| quantile((place as f64 + 0.5) / OUTCOMES as f64)).collect();
        let late_deviations = quantile(limits.probability).max(0.0);
        let contender = |choice: &'a Choice| {
            let site = &experiments.sites[choice.site];
            let known = belief.of(Point::new(site.location, choice.timed.placement.split(), 1.0));
            let log = |probability: f64| {
                let log = choice.timed.spread.as_ref().map(|spread| libm::log(spread.quantile(probability)));
                log.filter(|log| log.is_finite())
            };
            let late_log = log(limits.probability).map(|log| log.max(0.0));
            Contender { choice, known, deviation: log(ONE_DEVIATION), late_log }
        };
        let saves_objective = has_price && !limits.wants_speed();
        let mut gradient = Self {
            experiments,
            belief,
            limits,
            late_deviations,
            saves_objective,
            best: None,
            contenders: Vec::new(),
            shares_of_deviation: Vec::new(),
            outcomes,
        };
        let best = best.map(|place| contender(&choices[place]));
        let least = best.as_ref().map(|best| gradient.objective(best, 0.0));
        // Configurations without a price cannot be compared with priced ones.
        let comparable = choices.iter().filter(|choice| choice.rate.is_some() || !has_price);
        let all: Vec<Contender> = comparable.map(contender).collect();
        gradient.shares_of_deviation =
            (0..experiments.sites.len()).map(|site| gradient.share_of_deviation(&all, site)).collect();
        let optimistic = |one: Contender<'a>| {
            let log = -OPTIMISM * one.known.variance.sqrt();
            gradient.keeps(&one, log, 0.0).then(|| (gradient.objective(&one, log), one))
        };
        let mut promising: Vec<(f64, Contender)> = all.into_iter().filter_map(optimistic).collect();
        promising.retain(|(objective, _)| least.is_none_or(|least| *objective < least));
        sort_by(&mut promising, |a, b| a.0.total_cmp(&b.0));
        promising.truncate(MOST_CONTENDERS);
        gradient.contenders = promising.into_iter().map(|(_, one)| one).collect();
        gradient.best = best;
        gradient
    }

    /// Returns whether a run on a site may change the decision.
    pub(super) fn matters(&self, site: usize) -> bool {
        self.best.iter().chain(&self.contenders).any(|one| one.choice.site == site)
    }

    /// Returns the expected saving of the decision after a run, as a share of the cost (or time) of
    /// the recommended configuration: E[(f(best) − min f)⁺] over the outcomes of the run, where the
    /// minimum is over the configurations that may then be recommended. Without a recommended
    /// configuration, the probability that the run finds one.
    pub(super) fn saving(&self, run: &Run) -> f64 {
        let site = &self.experiments.sites[run.site];
        let told = self.belief.of(Point::new(site.location, run.placement.split(), run.share));
        let after = |one: &Contender| {
            let change = self.belief.change(&one.known, &told);
            let noise = self.belief.noise();
            let left = (one.known.variance - change * change).max(0.0) + noise;
            let late_log = match one.late_log {
                // The predictor's intervals need not become narrower, so runs that can only narrow
                // them are often in vain. They count only without a recommendation, when nothing
                // else can help.
                Some(log) if self.best.is_none() => log * (left / (one.known.variance + noise)).sqrt(),
                Some(log) => log,
                None => self.late_deviations * left.sqrt(),
            };
            (self.shares_of_deviation[one.choice.site] * change, late_log)
        };
        let is_open = |one: &&Contender<'a>| one.choice.is_known || self.tells(run, one.choice);
        let open: Vec<(&Contender, (f64, f64))> =
            self.contenders.iter().filter(is_open).map(|one| (one, after(one))).collect();
        let best = self.best.as_ref().map(|best| (best, after(best).0));
        let at =
            |one: &Contender, change: f64, outcome: f64| self.objective(one, change * outcome - change * change / 2.0);
        let mut sum = 0.0;
        for outcome in &self.outcomes {
            let possible = open.iter().filter(|(one, (change, late))| self.keeps(one, change * outcome, *late));
            let least = possible.map(|(one, (change, _))| at(one, *change, *outcome)).fold(f64::INFINITY, f64::min);
            sum += match best {
                Some((best, change)) => (at(best, change, *outcome) - least).max(0.0),
                None => f64::from(least.is_finite()),
            };
        }
        let whole = self.best.as_ref().map_or(1.0, |best| self.objective(best, 0.0));
        sum / OUTCOMES as f64 / whole
    }

    /// Returns the median share over the configurations of a site with a predicted spread.
    fn share_of_deviation(&self, all: &[Contender], site: usize) -> f64 {
        let of_site = all.iter().filter(|one| one.choice.site == site);
        let share = |one: &Contender| {
            one.deviation.map(|deviation| deviation / (one.known.variance + self.belief.noise()).sqrt())
        };
        let shares: Vec<f64> = of_site.filter_map(share).collect();
        if shares.is_empty() { 1.0 } else { median(shares).min(1.0) }
    }

    /// Whether a configuration whose time is only guessed may be recommended after a run. The run
    /// must be on its machine type, the runs must then vary executors and cores, and one must have
    /// as many, because the plan offers at most the measured numbers.
    fn tells(&self, run: &Run, choice: &Choice) -> bool {
        let (of_run, of_choice) = (&self.experiments.sites[run.site], &self.experiments.sites[choice.site]);
        if of_run.location != of_choice.location {
            return false;
        }
        let (executors_vary, cores_vary) = self.experiments.varied;
        let (most_executors, most_cores) = self.experiments.most_counts(of_choice);
        let reaches = |varies: bool, count: u32, asked: u32, most: u32| {
            (varies || asked == count || count > 1) && asked <= most.max(count)
        };
        reaches(executors_vary, run.placement.executors, choice.timed.placement.executors, most_executors)
            && reaches(
                cores_vary,
                run.placement.cores_per_executor,
                choice.timed.placement.cores_per_executor,
                most_cores,
            )
    }

    /// Returns the cost, or the time, of a configuration that takes e^`log` times the expected
    /// time.
    fn objective(&self, one: &Contender, log: f64) -> f64 {
        let secs = one.choice.timed.secs * libm::exp(log);
        match one.choice.rate.filter(|_| self.saves_objective) {
            Some(rate) => rate.cost(secs),
            None => secs,
        }
    }

    /// Whether a configuration meets the limits if it takes e^`log` times the expected time.
    fn keeps(&self, one: &Contender, log: f64, late_log: f64) -> bool {
        let Timed { secs, at_least_secs, .. } = one.choice.timed;
        let late = above(secs * libm::exp(log + late_log), at_least_secs);
        is_in_time(late, &self.limits) && keeps_budget(one.choice.rate, late, &self.limits)
    }
}
