//! The candidates that an ensemble blends, and the choice of those that compete for a shape of
//! question.

use foreglow_shared::distinct;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dataset::{Points, Training};
use crate::ensemble::folds::has_forward;
use crate::ensemble::shape::{Extent, Shape};
use crate::regression::Regression;
use crate::regression::detrended::Detrended;
use crate::regression::evidence::Beliefs;
use crate::regression::gaussian_process::{Covariance, GaussianProcess, RESIDUAL, WHOLE};
use crate::regression::log_additive::LogAdditive;
use crate::regression::plane::{Factored, Plane};
use crate::regression::posynomial::law::{self, Costs};
use crate::regression::posynomial::term::Term;
use crate::regression::posynomial::{Posynomial, Prior, Problem};
use crate::{Meaning, Tuning};

/// A kind of model of ln t.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A Gaussian process with a length scale of one standard deviation of a feature.
    Near,
    /// A Gaussian process with a length scale of two standard deviations.
    Far,
    /// A posynomial of two terms, with a Gaussian process on its residuals.
    TwoTerms,
    /// A posynomial of three terms, with a Gaussian process on its residuals.
    ThreeTerms,
    /// A log-additive line.
    LogAdditive,
    /// The scaling laws of columns with a meaning, with a Gaussian process on their residuals.
    Law,
    /// The scaling law of replicas that average their gradients, likewise.
    Synchronised,
    /// Time in proportion to the work, with a Gaussian process over the configuration.
    Proportional,
}

/// A fitted candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Member {
    Smooth(GaussianProcess),
    Detrended(Detrended),
    Posynomial(Posynomial),
    LogAdditive(LogAdditive),
}

/// What to fit, and with which priors.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) kinds: &'a [Kind],
    /// Numeric features whose exponents are tied to whole numbers.
    pub(super) ties: &'a [usize],
    /// One per numeric feature.
    pub(super) meanings: &'a [Option<Meaning>],
    /// Standard deviation of the noise in ln t.
    pub(super) noise: f64,
    pub(super) tuning: Tuning,
    /// Whether separate runs agree on a time that the laws do not explain.
    pub(super) is_unexplained: bool,
    /// Whether some rows are held out. A fold with only two values of a feature then does not tie
    /// its exponent.
    pub(super) validates: bool,
    /// Candidates that were fitted on all rows, if these are some of them and their variances need
    /// not be learnt again.
    pub(super) known: &'a [(Kind, Arc<Member>)],
}

/// Prior weight of the laws if only the number of machines has a meaning. It is small, because such
/// a job may not scale like a CNN.
const LAW_OF_WORKERS: f64 = 0.02;
/// Prior weight of Amdahl's law for more replicas, relative to the law of replicas: the probability
/// above a 90 % interval.
const AMDAHL_OF_REPLICAS: f64 = 0.05;

/// Properties of a table that the prior weights depend on.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Whether the amount of work varies.
    pub(super) work: bool,
    /// Whether the questions are about more replicas than were measured, and no other kind of
    /// workers varies.
    pub(super) has_more_replicas: bool,
    /// Number of kinds of workers whose number varies.
    pub(super) workers: usize,
    /// Features that vary, plus a constant, per row.
    pub(super) features_per_row: f64,
    /// Whether the meaning of every feature that varies is known, and one of them is the amount of
    /// work.
    pub(super) is_complete: bool,
}

impl Known {
    pub(super) fn of(extent: &Extent, shape: &Shape, meanings: &[Option<Meaning>], rows: usize) -> Self {
        let varying = |is: fn(Meaning) -> bool| {
            let columns = meanings.iter().zip(&extent.numeric);
            columns.filter(|(of, axis)| of.is_some_and(is) && axis.varies() && axis.log).count()
        };
        let (work, workers) = (varying(|meaning| meaning == Meaning::Work), varying(Meaning::is_workers));
        Self {
            work: work > 0,
            has_more_replicas: workers == 1
                && varying(|meaning| meaning == Meaning::Replicas) == 1
                && has_more_workers(shape, meanings),
            workers,
            is_complete: work > 0 && work + workers == extent.varying(),
            features_per_row: (1 + extent.varying()) as f64 / rows as f64,
        }
    }
}

impl Kind {
    /// Returns the prior weight: largest for the laws, smallest for a form with many coefficients
    /// per row.
    pub(super) fn prior(self, known: Known, tuning: Tuning) -> f64 {
        let coefficients = match self {
            Self::Law if known.has_more_replicas => return AMDAHL_OF_REPLICAS,
            Self::Law if known.work || known.workers > 1 => return 1.0,
            Self::Proportional => return 1.0 / ((1.0 + known.features_per_row) * (1.0 + known.features_per_row)),
            Self::Synchronised => return 1.0,
            Self::Law => return LAW_OF_WORKERS,
            Self::Near | Self::Far | Self::LogAdditive => 1.0,
            // The terms, and the smooth function of their residuals.
            Self::TwoTerms => 3.0,
            Self::ThreeTerms => 4.0,
        };
        let share = 1.0 + coefficients * known.features_per_row;
        tuning.flexible_prior / (share * share)
    }

    /// Whether the fit depends on which exponents are tied.
    pub(super) fn is_tied(self) -> bool {
        matches!(self, Self::TwoTerms | Self::ThreeTerms)
    }
}

/// Returns the candidates for a shape. Beyond a range, the Gaussian process of the short length
/// (which soon returns to the mean) and log-additive lines (which cannot bend) are left out. If a
/// feature has too few values for a forward hold-out, so is the other Gaussian process: only the
/// forms with whole-number exponents are used.
///
/// For more replicas, only the two laws that are known for them are used: with two counts, no
/// held-out row shows how the time depends on more of them, and with three, one count does.
///
/// With `is_brief`, one form that is not a law competes with those that are.
pub(super) fn kinds(extent: &Extent, shape: &Shape, known: Known, is_brief: bool) -> Vec<Kind> {
    if known.has_more_replicas {
        return vec![Kind::Law, Kind::Synchronised];
    }
    let mut kinds = flexible(extent, shape);
    if is_brief && known.work {
        kinds.retain(|kind| *kind == Kind::Far);
    }
    if known.work || known.workers > 0 {
        kinds.push(Kind::Law);
    }
    if known.work {
        kinds.push(Kind::Proportional);
    }
    kinds
}

/// Whether rows have three counts of replicas, so that held-out rows show how the time depends on
/// more of them.
pub(super) fn has_three_counts(points: &Points, meanings: &[Option<Meaning>]) -> bool {
    let mut replicas = (0..meanings.len()).filter(|column| meanings[*column] == Some(Meaning::Replicas));
    replicas.all(|column| distinct(points.numeric.iter().map(|row| row[column].to_bits())).len() > 2)
}

/// Whether the questions are about more workers than were measured, of all contexts or of their
/// own.
pub(super) fn has_more_workers(shape: &Shape, meanings: &[Option<Meaning>]) -> bool {
    let is_workers = |column: usize| meanings[column].is_some_and(Meaning::is_workers);
    match shape {
        Shape::Beyond(sides) => sides.iter().any(|(column, _)| is_workers(*column)),
        Shape::BeyondOfContext(end) => is_workers(end.column),
        _ => false,
    }
}

/// Limit on the names in all categories for a line with one coefficient per name; above it, a fit
/// takes minutes.
const MANY_NAMES: usize = 100;

fn flexible(extent: &Extent, shape: &Shape) -> Vec<Kind> {
    match shape {
        Shape::Beyond(_) if !has_forward(extent, shape) => vec![Kind::TwoTerms, Kind::ThreeTerms],
        Shape::Beyond(_) => vec![Kind::Far, Kind::TwoTerms, Kind::ThreeTerms],
        _ if extent.names() > MANY_NAMES => vec![Kind::Near, Kind::Far, Kind::TwoTerms, Kind::ThreeTerms],
        _ => vec![Kind::Near, Kind::Far, Kind::TwoTerms, Kind::ThreeTerms, Kind::LogAdditive],
    }
}

/// Returns the features whose exponents must be extrapolated from few values.
pub(super) fn ties(extent: &Extent, shape: &Shape) -> Vec<usize> {
    match shape {
        Shape::Beyond(sides) => {
            let few =
                |column: &usize| extent.numeric[*column].log && extent.numeric[*column].levels.len() <= FEW_LEVELS;
            sides.iter().map(|(column, _)| *column).filter(few).collect()
        }
        _ => Vec::new(),
    }
}

/// Number of distinct values up to which an exponent is uncertain and is therefore tied.
const FEW_LEVELS: usize = 3;

/// Fits one candidate per kind, in their order.
pub(super) fn fit(training: &Training, request: &Request) -> Vec<Member> {
    let prior = Prior {
        beyond: request.ties.to_vec(),
        tie_two_levels: !request.validates,
        meanings: request.meanings.to_vec(),
        noise: Some(request.noise),
    };
    let noise = request.noise;
    let reliable = training.reliable();
    let problem = Problem::new(training, &prior);
    // The process on the residuals of a law depends on the configuration alone, so that it does not
    // bend the growth with the work, unless separate runs agree that the growth bends.
    let without = |is_left_out: &dyn Fn(Meaning) -> bool| {
        let mut points = training.points.clone();
        for row in &mut points.numeric {
            for (x, meaning) in row.iter_mut().zip(request.meanings) {
                if meaning.is_some_and(is_left_out) {
                    *x = 1.0;
                }
            }
        }
        points
    };
    let is_lawful = |meaning: Meaning| meaning == Meaning::Work && !request.is_unexplained;
    let configurations = || without(&is_lawful);
    let mut terms = Vec::new();
    let mut member = |kind: &Kind| {
        let known = request.known.iter().find(|(known, _)| known == kind);
        let known = known.and_then(|(_, member)| member.covariance());
        if kind.is_tied() && terms.is_empty() {
            terms = problem.fit();
        }
        match kind {
            Kind::Near => Member::Smooth(GaussianProcess::fit(training, 1.0, known)),
            Kind::Far => Member::Smooth(GaussianProcess::fit(training, 2.0, known)),
            Kind::TwoTerms => Member::Detrended(Detrended::fit(training, &problem, &terms[1], (noise, known))),
            Kind::ThreeTerms => Member::Detrended(Detrended::fit(training, &problem, &terms[2], (noise, known))),
            Kind::LogAdditive => Member::LogAdditive(LogAdditive::fit(&reliable)),
            Kind::Law => {
                let terms = law_terms(training, request, Costs::All);
                let law = problem.fit_law(&terms).law;
                let beliefs = Beliefs { noise, ..RESIDUAL };
                Member::Detrended(Detrended::over(training, &configurations(), law, (&beliefs, known)))
            }
            Kind::Synchronised => {
                let problem = Problem::synchronised(training, &prior);
                let terms = law_terms(training, request, Costs::Synchronised);
                let fit = problem.fit_law(&terms);
                let beliefs = Beliefs { noise, ..RESIDUAL };
                // A run that the law dismisses as disturbed is not its remainder either.
                let weights = training.weights.iter().zip(&fit.weights).map(|(own, weight)| own * weight).collect();
                let training = Training { weights, ..training.clone() };
                // Two counts do not show whether the residual of the larger one persists.
                let has_three_counts = has_three_counts(&training.points, request.meanings);
                let is_fixed = |meaning: Meaning| meaning.is_workers() && !has_three_counts;
                let points = without(&|meaning| is_lawful(meaning) || is_fixed(meaning));
                Member::Detrended(Detrended::over(&training, &points, fit.law, (&beliefs, known)))
            }
            Kind::Proportional => {
                let terms = law_terms(training, request, Costs::Proportional);
                let law = problem.fit_law(&terms).law;
                let beliefs = Beliefs { noise, ..WHOLE };
                Member::Detrended(Detrended::over(training, &configurations(), law, (&beliefs, known)))
            }
        }
    };
    request.kinds.iter().map(&mut member).collect()
}

fn law_terms(training: &Training, request: &Request, costs: Costs) -> Vec<Term> {
    law::terms(&training.points, request.meanings, costs, request.tuning).unwrap_or_default()
}

/// Returns the variance of ln t that the parameters of the law of all costs leave open at points.
pub(super) fn law_variances(training: &Training, request: &Request) -> impl Fn(&Points) -> Vec<f64> {
    let prior = Prior { meanings: request.meanings.to_vec(), noise: Some(request.noise), ..Prior::default() };
    let problem = Problem::new(training, &prior);
    let terms = law_terms(training, request, Costs::All);
    let fit = problem.fit_law(&terms);
    move |points: &Points| problem.variances(&fit, points)
}

/// Fits candidates for a first guess, without ties.
pub(super) fn rough(training: &Training, meanings: &[Option<Meaning>]) -> Vec<Member> {
    let prior = Prior { meanings: meanings.to_vec(), ..Prior::default() };
    let terms = Problem::new(training, &prior).fit();
    let smooth = Member::Smooth(GaussianProcess::fit(training, 2.0, None));
    terms.into_iter().skip(1).map(Member::Posynomial).chain([smooth]).collect()
}

impl Member {
    fn covariance(&self) -> Option<&Covariance> {
        match self {
            Self::Smooth(member) => Some(member.covariance()),
            Self::Detrended(member) => Some(member.covariance()),
            Self::Posynomial(_) | Self::LogAdditive(_) => None,
        }
    }

    /// Returns the share of the synchronisation in the time of each point, for a law of replicas.
    pub(super) fn synchronisation(&self, points: &Points) -> Vec<f64> {
        let share = |(numeric, category): (&Vec<f64>, &Vec<u32>)| match self {
            Self::Detrended(member) => member.last_share(numeric, category),
            _ => 0.0,
        };
        points.numeric.iter().zip(&points.category).map(share).collect()
    }
}

impl Regression for Member {
    fn log(&self, numeric: &[f64], category: &[u32]) -> f64 {
        match self {
            Self::Smooth(member) => member.log(numeric, category),
            Self::Detrended(member) => member.log(numeric, category),
            Self::Posynomial(member) => member.log(numeric, category),
            Self::LogAdditive(member) => member.log(numeric, category),
        }
    }

    fn add_to(&self, grid: &mut Factored, plane: &Plane, weight: f64) {
        match self {
            Self::Smooth(member) => member.add_to(grid, plane, weight),
            Self::Detrended(member) => member.add_to(grid, plane, weight),
            Self::Posynomial(member) => member.add_to(grid, plane, weight),
            Self::LogAdditive(member) => member.add_to(grid, plane, weight),
        }
    }
}
