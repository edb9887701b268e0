//! The default predictor of a table of runs: several candidates, each weighted by its error on
//! held-out rows that are as far from the fitted rows as the question is from the runs.
//!
//! | step | where |
//! |---|---|
//! | distinct rows in one order, medians of repeats | [`canonical`] |
//! | shape of a question: inside the measured ranges or beyond which end | [`shape`] |
//! | hold-out folds for a shape | [`folds`] |
//! | competing models | [`candidate`] |
//! | weights | [`blend`] |
//! | distance beyond the ranges | [`distance`] |
//! | expected error | [`errors`] |
//! | uncertainty of a law beyond the measured work | [`parameters`] |
//! | noise of one run | [`noise`] |
//! | differences in growth between contexts | [`slopes`] |
//! | stopped runs (lower bounds) | [`censored`] |
//! | warnings | [`caution`] |

mod axis;
mod blend;
mod candidate;
mod canonical;
mod caution;
mod censored;
mod context;
mod contradiction;
mod distance;
mod errors;
mod explain;
mod fitted;
mod folds;
mod margin;
mod noise;
mod parameters;
mod repeats;
mod robust;
mod schema;
mod shape;
mod slopes;
mod surface;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dataset::{Dataset, DatasetError, Features, Points, Training};
pub(crate) use crate::ensemble::canonical::Group;
use crate::ensemble::canonical::{Table, groups, subsample};
use crate::ensemble::caution::Disagreement;
use crate::ensemble::censored::Bound;
use crate::ensemble::contradiction::Contradiction;
pub(crate) use crate::ensemble::contradiction::LEAST_CONTRADICTION;
use crate::ensemble::errors::Errors;
pub(crate) use crate::ensemble::errors::add_group;
pub use crate::ensemble::explain::{Explanation, HeldOutRow, Part};
use crate::ensemble::fitted::Fitted;
pub use crate::ensemble::margin::Margin;
use crate::ensemble::robust::Reliability;
pub(crate) use crate::ensemble::schema::Schema;
use crate::ensemble::shape::{Extent, Shape};
use crate::ensemble::surface::Kept;
pub use crate::ensemble::surface::{Along, Grid, Region, Surface};
use crate::regression::Regression;
use crate::{FitError, Meaning, Prediction, Spread, Tuning, Warning};

/// A fitted predictor of a table of runs.
///
/// Fits are made lazily, when a question of their shape (inside the measured ranges, or beyond one
/// of their ends) is first asked, and cached. A prediction depends only on the runs and its own
/// question. The order of the runs and exact copies of all of them change no digit, and multiplying
/// all times by k multiplies every prediction by k.
///
/// ```
/// # use foreglow_predictor::{Column, Dataset, Ensemble, Features};
/// let nodes = Column::numeric("nodes", vec![1.0, 2.0, 3.0, 4.0], None);
/// let features = Features::new(vec![nodes]).unwrap();
/// let dataset = Dataset::new(features, vec![120.0, 60.0, 40.0, 30.0], vec![false; 4]).unwrap();
/// let ensemble = Ensemble::fit(&dataset).unwrap();
/// let asked = Features::new(vec![Column::numeric("nodes", vec![6.0], None)]).unwrap();
/// let secs = ensemble.predict(&asked).unwrap()[0].completion_time_secs.unwrap();
/// assert!((secs - 20.0).abs() < 1.0, "{secs}");
/// ```
#[derive(Debug)]
pub struct Ensemble {
    state: State,
    fitted: Mutex<Fitted>,
    /// The last grid.
    kept: Mutex<Option<Kept>>,
}

/// State that does not depend on the questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    table: Table,
    extent: Extent,
    /// One per numeric feature.
    meanings: Vec<Option<Meaning>>,
    /// Standard deviation of the noise in ln t.
    noise: f64,
    tuning: Tuning,
    /// Pairs of numeric features that never vary independently.
    together: Vec<(usize, usize)>,
    /// Runs that disagree with their repeats.
    disagreeing: Vec<Disagreement>,
    /// Runs that contradict each other.
    contradicting: Vec<Contradiction>,
    /// Number of completed runs of each row.
    runs: Vec<usize>,
    /// How much larger the variance of ln t of one run of each row is than that of their median.
    beyond_medians: Vec<f64>,
    /// Lower bounds of the times of settings.
    bounds: Vec<Bound>,
    /// Rows whose separate runs agree on a time that the others do not explain, and their weights
    /// in fits of more work.
    agreed: Vec<(usize, f64)>,
    /// Number of distinct runs, if not all of them were fitted.
    subsampled_of: Option<usize>,
    /// Errors of runs about the median of their setting, if there are too few settings to hold one
    /// out; `None` with more settings or without repeated runs.
    repeats: Option<Errors>,
}

impl Ensemble {
    /// Fits the runs.
    ///
    /// # Errors
    /// Every run is a lower bound.
    pub fn fit(dataset: &Dataset) -> Result<Self, FitError> {
        Self::fit_known(dataset, &[])
    }

    /// Fits the runs, with the meaning of some numeric features by column name.
    ///
    /// # Errors
    /// Every run is a lower bound.
    pub fn fit_known(dataset: &Dataset, known: &[(&str, Meaning)]) -> Result<Self, FitError> {
        Self::fit_tuned(dataset, known, Tuning::default())
    }

    /// Fits like [`Ensemble::fit_known`], with other constants.
    ///
    /// # Errors
    /// Every run is a lower bound.
    pub fn fit_tuned(dataset: &Dataset, known: &[(&str, Meaning)], tuning: Tuning) -> Result<Self, FitError> {
        let schema = Schema::of(dataset.features());
        let all = groups(&schema, dataset);
        let disagreeing = caution::disagreeing_repeats(&schema, &all);
        let repeats = repeats::errors(&all);
        let distinct = all.len();
        let groups = subsample(all);
        let subsampled_of = (groups.len() < distinct).then_some(distinct);
        let meaning = |name: &str| known.iter().find(|(column, _)| *column == name).map(|(_, meaning)| *meaning);
        let meanings: Vec<Option<Meaning>> = schema.numeric().map(meaning).collect();
        let mut table =
            complete(&schema, &groups, &meanings).ok_or(FitError::AllStopped { runs: dataset.secs().len() })?;
        table.training.weights = groups.iter().map(|group| group.weight).collect();
        let Reliability { weights, noise, agreed } = robust::reliability(&table.training, &groups, &meanings, tuning);
        table.training.weights = weights;
        let contradicting = contradiction::contradictions(&schema, &groups, &meanings, noise);
        let bounds = censored::bounds(&groups, &meanings);
        let extent = Extent::of(&table);
        let together = caution::together(&extent, &table);
        let state = State {
            table,
            extent,
            meanings,
            noise,
            tuning,
            together,
            disagreeing,
            contradicting,
            runs: groups.iter().map(|group| group.secs.len()).collect(),
            beyond_medians: noise::beyond_medians(&groups),
            bounds,
            agreed,
            subsampled_of,
            repeats,
        };
        Ok(Self { state, fitted: Mutex::default(), kept: Mutex::default() })
    }

    /// Predicts the completion time of each row of questions. Columns are found by name; a category
    /// may have names that no run had. If there is no prediction, the time is `None` and a warning
    /// says why.
    ///
    /// # Errors
    /// A column is missing, or is a category only here or only in the runs.
    pub fn predict(&self, questions: &Features) -> Result<Vec<Prediction>, DatasetError> {
        let aligned = self.state.table.schema.align(questions)?;
        let points = self.state.table.schema.points(&aligned);
        let answer = |row: usize| {
            let name = |category: usize| caution::name(&aligned, row, category);
            self.answer(&points.numeric[row], &points.category[row], &name)
        };
        let mut predictions: Vec<Prediction> = (0..points.rows()).map(answer).collect();
        self.bound(questions, &mut predictions)?;
        Ok(predictions)
    }

    /// Adds the lower bounds of runs that were not fitted; their columns are those of the fitted
    /// runs, in the same order.
    pub fn add_bounds(&mut self, runs: &Dataset) {
        let State { table, bounds, meanings, .. } = &mut self.state;
        bounds.extend(censored::bounds(&groups(&table.schema, runs), meanings));
    }

    /// Applies the lower bounds of stopped runs to predictions of these questions, in their order.
    ///
    /// # Errors
    /// The errors of [`Ensemble::predict`].
    pub fn bound(&self, questions: &Features, predictions: &mut [Prediction]) -> Result<(), DatasetError> {
        let State { table, bounds, meanings, .. } = &self.state;
        if bounds.is_empty() {
            return Ok(());
        }
        let points = table.schema.points(&table.schema.align(questions)?);
        for (prediction, asked) in predictions.iter_mut().zip(points.numeric.iter().zip(&points.category)) {
            censored::bound(prediction, bounds, (&table.schema, meanings), (asked.0, asked.1));
        }
        Ok(())
    }

    /// Computes in advance the fits that these questions need.
    ///
    /// # Errors
    /// The errors of [`Ensemble::predict`].
    pub fn prepare(&self, questions: &Features) -> Result<(), DatasetError> {
        self.predict(questions).map(drop)
    }

    /// Returns the warnings about runs that contradict each other: repeats of one setting, and more
    /// work that took less time. They need no fit beyond [`Ensemble::fit`].
    pub fn contradictions(&self) -> Vec<Warning> {
        let disagreeing = self.state.disagreeing.iter().cloned().map(Warning::from);
        disagreeing.chain(self.state.contradicting.iter().cloned().map(Warning::from)).collect()
    }

    /// Returns the warnings that apply to every prediction: samples that disagree with their
    /// repeats or with all other rows, samples that contradict each other, and rows that were not
    /// fitted.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = self.state.disagreeing.iter().cloned().map(Warning::from).collect();
        let subsampled = |distinct| Warning::Subsampled { distinct, fitted: self.state.runs.len() };
        warnings.extend(self.state.subsampled_of.map(subsampled));
        let table = &self.state.table;
        if table.rows() > 2 && !self.state.extent.is_one_point() {
            let mut fitted = self.lock();
            let residuals = fitted.blend(&self.state, &Shape::Inside).residuals.clone();
            drop(fitted);
            warnings.extend(caution::disagreeing_rows(&self.state, &residuals));
        }
        // A run with a warning about disagreement gets no second one about a contradiction.
        let is_named = |found: &&Contradiction| {
            let names = |warning: &Warning| matches!(warning, Warning::SamplesDisagree { at, .. } if found.names(at));
            warnings.iter().any(names)
        };
        let new: Vec<&Contradiction> = self.state.contradicting.iter().filter(|found| !is_named(found)).collect();
        warnings.extend(new.into_iter().cloned().map(Warning::from));
        warnings
    }

    /// Returns the numeric features of the measured rows whose spread comes from their own repeats.
    /// The surface of a grid does not include this spread.
    pub fn rows_with_own_spread(&self) -> impl Iterator<Item = &[f64]> {
        let has_own = self.state.repeats.is_some();
        self.state.table.training.points.numeric.iter().filter(move |_| has_own).map(Vec::as_slice)
    }

    /// A panic leaves no partial entry, because each is inserted when it is complete.
    fn lock(&self) -> MutexGuard<'_, Fitted> {
        self.fitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Predicts one row. `name` returns the name of a category's level as asked.
    fn answer(&self, numeric: &[f64], category: &[u32], name: &dyn Fn(usize) -> String) -> Prediction {
        let State { table, extent, .. } = &self.state;
        let warnings = caution::unknown(&table.schema, extent, table, numeric, category, name);
        let warnings: Vec<Warning> = warnings.into_iter().chain(caution::flat(&self.state, numeric)).collect();
        if !warnings.is_empty() {
            return Prediction::unknown(warnings);
        }
        let mut warnings = caution::cautions(&self.state, numeric, category, name);
        let (log, spread) = if extent.is_one_point() {
            (0.0, self.state.spread_of_repeats(numeric, category))
        } else {
            let shape = extent.shape(numeric, category);
            let mut fitted = self.lock();
            let blend = fitted.blend(&self.state, &shape);
            let held_out = blend.spread(extent.distance(&shape, numeric, category));
            let spread = held_out.or_else(|| self.state.spread_of_repeats(numeric, category));
            let members = fitted.members(&blend);
            drop(fitted);
            let log = |numeric: &[f64], category: &[u32]| -> f64 {
                members.iter().map(|(member, weight)| weight * member.log(numeric, category)).sum()
            };
            (log(numeric, category) + self.state.beyond_fit(numeric, category, &log), spread)
        };
        match Prediction::of_log(table.mean_log + log, spread) {
            Some(prediction) => Prediction { warnings, ..prediction },
            None => {
                warnings.push(Warning::NotPositive);
                Prediction::unknown(warnings)
            }
        }
    }
}

impl State {
    /// Returns how far ln t is from a fit at a question: at a row whose runs agree as far as they
    /// are, next to it less, and 0 from the next measured values on.
    fn beyond_fit(&self, numeric: &[f64], category: &[u32], fit: &dyn Fn(&[f64], &[u32]) -> f64) -> f64 {
        let beyond = |(own, residual): (&[f64], f64)| {
            let columns = 0..numeric.len();
            residual
                * columns
                    .map(|column| self.extent.numeric[column].nearness(own[column], numeric[column]))
                    .product::<f64>()
        };
        self.unexplained(category, fit).map(beyond).sum()
    }

    /// Returns the rows of a context whose runs agree, and how far their ln t is from a fit.
    fn unexplained<'a>(
        &'a self,
        category: &'a [u32],
        fit: &'a dyn Fn(&[f64], &[u32]) -> f64,
    ) -> impl Iterator<Item = (&'a [f64], f64)> {
        let Training { points, logs, .. } = &self.table.training;
        let rows = self.agreed.iter().map(|(row, _)| *row).filter(move |row| points.category[*row] == category);
        rows.map(move |row| (points.numeric[row].as_slice(), logs[row] - fit(&points.numeric[row], category)))
    }

    /// Returns the spread of a setting that was measured, where no other can be held out.
    fn spread_of_repeats(&self, numeric: &[f64], category: &[u32]) -> Option<Spread> {
        let points = &self.table.training.points;
        let is_asked = |row: &usize| points.numeric[*row] == numeric && points.category[*row] == category;
        let observed = (0..self.table.rows()).filter(|row| self.table.observed[*row]);
        observed.filter(is_asked).find_map(|_| self.repeats.as_ref()?.spread(0.0))
    }
}

/// Returns the features of a row in words, such as "nodes 4, vm m5.large".
pub(crate) fn describe(features: &Features, row: usize) -> String {
    let schema = Schema::of(features);
    let points = schema.points(&features.select(&[row]));
    caution::describe(&schema, &points.numeric[0], &points.category[0])
}

/// Returns the settings whose median run completed.
pub(crate) fn measured(dataset: &Dataset) -> Vec<Group> {
    let mut groups = groups(&Schema::of(dataset.features()), dataset);
    groups.retain(|group| group.log_median().is_some());
    groups
}

/// Returns the rows to fit: the median of each group whose middle run completed, and the expected
/// time above the lower bound of each other group. `None` if no group has a median.
fn complete(schema: &Schema, groups: &[Group], meanings: &[Option<Meaning>]) -> Option<Table> {
    let (known, stopped): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(|group| group.log_median().is_some());
    if known.is_empty() {
        return None;
    }
    let points = |groups: &[&Group]| Points {
        numeric: groups.iter().map(|group| group.numeric.clone()).collect(),
        category: groups.iter().map(|group| group.category.clone()).collect(),
    };
    let logs: Vec<f64> = known.iter().filter_map(|group| group.log_median()).collect();
    let observed = Table::new(schema.clone(), points(&known), &logs, vec![true; known.len()]);
    if stopped.is_empty() {
        return Some(observed);
    }
    let asked = points(&stopped);
    let mut table = observed.clone();
    for _ in 0..censored::ROUNDS {
        let means = fitted::first_guess(&table, meanings, &asked);
        let own = fitted::first_guess(&table, meanings, &observed.training.points);
        let residuals: Vec<f64> = own.iter().zip(&logs).map(|(guess, log)| guess - log).collect();
        let scale = censored::scale(&residuals);
        let mut expected =
            stopped.iter().zip(&means).map(|(g, mean)| censored::expected_above(g.log_bound(), *mean, scale));
        let mut known = logs.iter();
        let both: Vec<&Group> = groups.iter().collect();
        let is_known: Vec<bool> = groups.iter().map(|group| group.log_median().is_some()).collect();
        let times =
            is_known.iter().filter_map(|is_known| if *is_known { known.next().copied() } else { expected.next() });
        let times: Vec<f64> = times.collect();
        table = Table::new(schema.clone(), points(&both), &times, is_known);
    }
    Some(table)
}

impl Clone for Ensemble {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), fitted: Mutex::new(self.lock().clone()), kept: Mutex::default() }
    }
}

/// Equal if all predictions are equal; the cache follows from the runs.
impl PartialEq for Ensemble {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

/// Includes the cached fits.
impl Serialize for Ensemble {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.state, &*self.lock()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ensemble {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (state, fitted) = Deserialize::deserialize(deserializer)?;
        Ok(Self { state, fitted: Mutex::new(fitted), kept: Mutex::default() })
    }
}
