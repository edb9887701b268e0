//! Random forests and gradient-boosted trees.

use foreglow_learner::{Draws, Forest, Ground, Table, Tree};

use crate::dataset::Points;
use crate::ensemble::Schema;
use crate::rival::{Rival, RivalError, Roles};
use crate::{Dataset, Features};

/// Number of trees of either.
const TREES: u32 = 100;
/// Seed of the random draws.
const SEED: u32 = 0;
/// Depth limit of a boosted tree.
const DEPTH: u32 = 3;
/// Learning rate of boosting.
const RATE: f64 = 0.1;

/// The mean of 100 trees grown on bootstrap samples, like the defaults of scikit-learn's
/// `RandomForestRegressor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RandomForest;

/// 100 trees of depth three, each fitted to the residuals of the previous ones, with a learning
/// rate of 0.1, like the defaults of scikit-learn's `GradientBoostingRegressor` (Friedman, "Greedy
/// function approximation: a gradient boosting machine", Annals of Statistics 29(5), 2001,
/// algorithm 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GradientBoosting;

impl Rival for RandomForest {
    fn name(&self) -> &'static str {
        "random-forest"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, _: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let (features, asked) = rows(fit.features(), asked);
        let forest = Forest::of(&Table { features, target: fit.secs().to_vec() }, TREES, SEED);
        Ok(asked.iter().map(|row| Some(forest.at(row))).collect())
    }
}

impl Rival for GradientBoosting {
    fn name(&self) -> &'static str {
        "gradient-boosting"
    }

    fn answer(&self, fit: &Dataset, asked: &Features, _: &Roles) -> Result<Vec<Option<f64>>, RivalError> {
        let (features, asked) = rows(fit.features(), asked);
        let mean = fit.secs().iter().sum::<f64>() / fit.secs().len() as f64;
        let sorted = sorted(&features);
        let features_per_split = sorted.len();
        let weights = vec![1.0; features.len()];
        let mut table = Table { features, target: fit.secs().iter().map(|secs| secs - mean).collect() };
        let mut answers = vec![mean; asked.len()];
        let mut draws = Draws::new(SEED);
        for _ in 0..TREES {
            let ground = Ground { table: &table, weights: weights.clone(), features_per_split, max_depth: DEPTH };
            let tree = Tree::grow(&ground, sorted.clone(), draws.splits());
            answers.iter_mut().zip(&asked).for_each(|(answer, row)| *answer += RATE * tree.at(row));
            let Table { features, target } = &mut table;
            target.iter_mut().zip(features).for_each(|(rest, row)| *rest -= RATE * tree.at(row));
        }
        Ok(answers.into_iter().map(Some).collect())
    }
}

/// Returns the rows sorted by each feature.
fn sorted(features: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let by = |feature: usize| {
        let mut rows: Vec<usize> = (0..features.len()).collect();
        rows.sort_by(|a, b| features[*a][feature].total_cmp(&features[*b][feature]));
        rows
    };
    (0..features[0].len()).map(by).collect()
}

/// Encodes both tables: numbers unchanged, and one 0/1 column for each name of the fitted runs.
fn rows(fit: &Features, asked: &Features) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let schema = Schema::of(fit);
    let levels: Vec<u32> = schema.category().map(|(_, levels)| levels.len() as u32).collect();
    let encode = |features: &Features| {
        let Points { mut numeric, category } = schema.points(features);
        for (row, codes) in numeric.iter_mut().zip(category) {
            for (levels, code) in levels.iter().zip(codes) {
                row.extend((0..*levels).map(|level| f64::from(u8::from(level == code))));
            }
        }
        numeric
    };
    (encode(fit), encode(asked))
}
