//! Cache of fits: candidates on all rows, and their blend for each shape of question.

use foreglow_shared::distinct;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Meaning;
use crate::dataset::{Points, Training};
use crate::ensemble::axis::Side;
use crate::ensemble::blend::{Blend, Evidence, Trial, normalised};
use crate::ensemble::candidate::{Kind, Known, Member, Request};
use crate::ensemble::canonical::Table;
use crate::ensemble::errors::Situation;
use crate::ensemble::folds::{Fold, folds, has_forward};
use crate::ensemble::parameters::Parameters;
use crate::ensemble::shape::{self, Shape};
use crate::ensemble::{State, candidate};
use crate::regression::Regression;

/// Limit on the variation of ln t that a law leaves unexplained, in standard deviations of the
/// noise.
const UNEXPLAINED: f64 = 6.0;

/// Number of rows above which variances are learnt once, from all rows, and not again for each
/// fold: learning takes most of the time of a fit, and the few held-out rows of a fold hardly
/// change them. Those of a fold beyond the range of all contexts do, because it holds out the rows
/// that show how the time grows, unless there are many rows of few contexts.
const LEARNT_ONCE: usize = 400;

/// Cache of fits; entries are added and never changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Entries", into = "Entries")]
pub(super) struct Fitted {
    blends: BTreeMap<Shape, Arc<Blend>>,
    members: BTreeMap<Key, Arc<Member>>,
    /// Predictions of candidates for the held-out rows of a fold. Shapes without a hold-out of
    /// their own have the same folds.
    held_out: BTreeMap<(Fold, Key), Vec<f64>>,
}

/// Key of a candidate that was fitted on all rows: its kind, the features with tied exponents, and
/// whether rows whose runs agree are dismissed.
type Key = (Kind, Vec<usize>, bool);

/// Serialised form, because keys of a JSON map must be strings.
#[derive(Clone, Serialize, Deserialize)]
struct Entries {
    blends: Vec<(Shape, Blend)>,
    members: Vec<(Key, Member)>,
}

impl Fitted {
    /// Returns the blend for a shape; fits it at the first use.
    pub(super) fn blend(&mut self, state: &State, shape: &Shape) -> Arc<Blend> {
        if let Some(blend) = self.blends.get(shape) {
            return Arc::clone(blend);
        }
        let blend = Arc::new(self.fit(state, shape));
        self.blends.insert(shape.clone(), Arc::clone(&blend));
        blend
    }

    /// Returns the candidates of a blend with their weights.
    pub(super) fn members(&self, blend: &Blend) -> Vec<(Arc<Member>, f64)> {
        let member = |kind: Kind| self.members.get(&key(kind, &blend.ties, blend.dismisses)).map(Arc::clone);
        blend.members.iter().filter_map(|(kind, weight)| Some((member(*kind)?, *weight))).collect()
    }

    fn fit(&mut self, state: &State, shape: &Shape) -> Blend {
        let State { table, extent, meanings, noise, tuning, agreed, beyond_medians, .. } = state;
        let known = Known::of(extent, shape, meanings, table.rows());
        let kinds = candidate::kinds(extent, shape, known, tuning.is_brief);
        let ties = candidate::ties(extent, shape);
        let dismisses = !agreed.is_empty() && is_more_work(shape, meanings);
        let mut training = table.training.clone();
        agreed.iter().filter(|_| dismisses).for_each(|(row, weight)| training.weights[*row] = *weight);
        let key = |kind: &Kind| key(*kind, &ties, dismisses);
        let request = Request {
            kinds: &[],
            ties: &ties,
            meanings,
            noise: *noise,
            tuning: *tuning,
            is_unexplained: !agreed.is_empty() && !dismisses,
            validates: false,
            known: &[],
        };
        let missing: Vec<Kind> = kinds.iter().filter(|kind| !self.members.contains_key(&key(kind))).copied().collect();
        let fits = candidate::fit(&training, &Request { kinds: &missing, ..request });
        for (kind, member) in missing.iter().zip(fits) {
            self.members.insert(key(kind), Arc::new(member));
        }
        let has_representatives = training.points.representatives().is_some();
        let shows_growth = has_representatives || !matches!(shape, Shape::Beyond(_));
        let is_learnt_once = table.rows() > LEARNT_ONCE && shows_growth;
        let learnt = kinds.iter().filter(|_| is_learnt_once);
        let of_all_rows: Vec<(Kind, Arc<Member>)> =
            learnt.map(|kind| (*kind, Arc::clone(&self.members[&key(kind)]))).collect();
        let held_out = &mut self.held_out;
        let mut trial = |fold: &Fold| {
            let missing: Vec<Kind> =
                kinds.iter().filter(|kind| !held_out.contains_key(&(fold.clone(), key(kind)))).copied().collect();
            let fitted = training.select(&fold.fit);
            let request = Request { kinds: &missing, known: &of_all_rows, validates: true, ..request };
            let fits = candidate::fit(&fitted.representatives(), &request);
            let test = training.select(&fold.test);
            // Rows with the same new names are one group.
            let group = |row: &Vec<u32>| match shape {
                Shape::Unseen(columns) => shape::names(row, columns),
                _ => row.clone(),
            };
            let groups: Vec<Vec<u32>> = test.points.category.iter().map(group).collect();
            let names = distinct(&groups);
            for (kind, member) in missing.iter().zip(fits) {
                held_out.insert((fold.clone(), key(kind)), member.logs(&test.points));
            }
            let contexts = groups.iter().map(|own| names.binary_search(&own).unwrap_or_else(|place| place)).collect();
            Trial {
                rows: fold.test.clone(),
                predicted: kinds.iter().map(|kind| held_out[&(fold.clone(), key(kind))].clone()).collect(),
                distances: extent.distances(table, shape, fold),
                fitted: fold.fitted(),
                contexts,
                beyond_medians: fold.test.iter().map(|row| beyond_medians[*row]).collect(),
                weights: test.weights,
                logs: test.logs,
            }
        };
        let trials: Vec<Trial> = folds(table, extent, shape).iter().map(&mut trial).collect();
        let error = |kind: &Kind| {
            let logs = self.members.get(&key(kind)).map(|member| member.logs(&training.points));
            let Training { logs: measured, weights, .. } = &training;
            let errors = logs.iter().flatten().zip(measured).zip(weights);
            errors.map(|((guess, log), weight)| weight * (guess - log).abs()).sum::<f64>() / weights.iter().sum::<f64>()
        };
        let fitted: Vec<f64> = kinds.iter().map(error).collect();
        let is_work = |(column, _): &(usize, Side)| meanings[*column] == Some(Meaning::Work);
        let is_lawful = matches!(shape, Shape::Beyond(sides) if sides.iter().all(is_work));
        let explains = known.is_complete && agreed.is_empty() && (is_lawful || !matches!(shape, Shape::Beyond(_)));
        let parameters = match shape {
            Shape::Beyond(sides) if is_lawful => {
                Parameters::of(table, extent, sides, candidate::law_variances(&training, &request))
            }
            _ => Parameters::KNOWN,
        };
        let priors: Vec<f64> = kinds.iter().map(|kind| kind.prior(known, *tuning)).collect();
        // Held-out rows within the range do not tell laws apart beyond it.
        let is_unjudged = known.has_more_replicas && !candidate::has_three_counts(&training.points, meanings);
        let weights = if is_unjudged {
            normalised(&priors)
        } else {
            // With one or two settings, only the errors on the fitted rows show which candidate
            // fits between them, and which start-up there is. Beyond them in other features, the
            // priors are more reliable.
            let counts_fitted = is_lawful || *shape == Shape::Inside;
            let held_out_rows = tuning.held_out_rows;
            Evidence { trials: &trials, fitted: &fitted, counts_fitted, held_out_rows }.weights(&priors)
        };
        let members: Vec<(Kind, f64)> = kinds.iter().copied().zip(weights).collect();
        let has_forward = has_forward(extent, shape);
        let situation = Situation {
            shape,
            parameters,
            between: self.unshown(state, shape, &members, (&ties, dismisses), has_forward),
            has_forward,
            features_per_row: extent.varying() as f64 / table.rows() as f64,
            deviation: if explains { table.deviation().min(UNEXPLAINED * noise) } else { table.deviation() },
            is_lawful,
            has_more_workers: candidate::has_more_workers(shape, meanings),
            has_laws_alone: is_unjudged,
            between_runs: None,
        };
        let mut blend = Blend::new(&situation, members, (ties.clone(), dismisses), &trials);
        if matches!(shape, Shape::BeyondOfContext(_)) {
            blend.widen(self.blend(state, &Shape::Inside).errors.as_ref());
        } else if trials.is_empty() && is_lawful {
            blend.widen(state.repeats.as_ref());
        }
        blend
    }

    /// Returns the variance of ln t for more replicas, or more cores of a machine, where no run
    /// shows how they scale.
    fn unshown(
        &self,
        State { table, extent, meanings, .. }: &State,
        shape: &Shape,
        members: &[(Kind, f64)],
        (ties, dismisses): (&[usize], bool),
        has_forward: bool,
    ) -> Parameters {
        let Shape::Beyond(sides) = shape else { return Parameters::KNOWN };
        let more =
            |of: Meaning| sides.iter().all(|(column, side)| meanings[*column] == Some(of) && *side == Side::Above);
        let are_cores = more(Meaning::Cores);
        if !are_cores && !more(Meaning::Replicas) {
            return Parameters::KNOWN;
        }
        let member = |kind: Kind| self.members.get(&key(kind, ties, dismisses)).map(Arc::clone);
        let members: Vec<(Kind, Arc<Member>, f64)> =
            members.iter().filter_map(|(kind, weight)| Some((*kind, member(*kind)?, *weight))).collect();
        Parameters::unshown(table, extent, sides, &members, (are_cores, has_forward))
    }
}

/// Only posynomials depend on ties.
fn key(kind: Kind, ties: &[usize], dismisses: bool) -> Key {
    (kind, if kind.is_tied() { ties.to_vec() } else { Vec::new() }, dismisses)
}

/// Whether the questions are about more work than was measured, of all contexts or of their own.
fn is_more_work(shape: &Shape, meanings: &[Option<Meaning>]) -> bool {
    let is_more = |column: usize, side: Side| side == Side::Above && meanings[column] == Some(Meaning::Work);
    match shape {
        Shape::Beyond(sides) => sides.iter().any(|(column, side)| is_more(*column, *side)),
        Shape::BeyondOfContext(end) => is_more(end.column, end.side),
        _ => false,
    }
}

/// Returns the mean prediction of the candidates without validation, to impute lower bounds.
pub(super) fn first_guess(table: &Table, meanings: &[Option<Meaning>], points: &Points) -> Vec<f64> {
    let members = candidate::rough(&table.training, meanings);
    let mut means = vec![table.mean_log; points.rows()];
    for member in &members {
        for (mean, log) in means.iter_mut().zip(member.logs(points)) {
            *mean += log / members.len() as f64;
        }
    }
    means
}

impl From<Entries> for Fitted {
    fn from(entries: Entries) -> Self {
        Self {
            blends: entries.blends.into_iter().map(|(shape, blend)| (shape, Arc::new(blend))).collect(),
            members: entries.members.into_iter().map(|(key, member)| (key, Arc::new(member))).collect(),
            held_out: BTreeMap::new(),
        }
    }
}

impl From<Fitted> for Entries {
    fn from(fitted: Fitted) -> Self {
        Self {
            blends: fitted.blends.into_iter().map(|(shape, blend)| (shape, Arc::unwrap_or_clone(blend))).collect(),
            members: fitted.members.into_iter().map(|(key, member)| (key, Arc::unwrap_or_clone(member))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Dataset, Ensemble, Features};

    #[test]
    fn shapes_with_the_same_folds_share_their_fits() {
        let runs: Vec<(f64, f64)> =
            [1.0, 2.0, 4.0].into_iter().flat_map(|nodes| [(nodes, 0.1), (nodes, 0.2)]).collect();
        let features = |rows: &[(f64, f64)]| {
            let column =
                |name: &str, of: fn(&(f64, f64)) -> f64| Column::numeric(name, rows.iter().map(of).collect(), None);
            Features::new(vec![column("nodes", |row| row.0), column("share", |row| row.1)]).unwrap()
        };
        let secs = runs.iter().map(|(nodes, share)| 1.0 + 90.0 * share / nodes).collect();
        let dataset = Dataset::new(features(&runs), secs, vec![false; runs.len()]).unwrap();
        let known = [("nodes", Meaning::Workers), ("share", Meaning::Work)];
        let ensemble = Ensemble::fit_known(&dataset, &known).unwrap();
        // Two amounts of work allow no forward hold-out, so both questions hold out each row.
        ensemble.predict(&features(&[(2.0, 0.15), (2.0, 1.0)])).unwrap();
        let fitted = ensemble.lock();
        assert_eq!(fitted.blends.len(), 2);
        let laws = fitted.held_out.keys().filter(|(_, (kind, ..))| *kind == Kind::Law).count();
        assert_eq!(laws, runs.len());
    }
}
