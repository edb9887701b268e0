//! Random forests.

use serde::{Deserialize, Serialize};

use crate::Technique;
use crate::tree::{Ground, Tree};
use crate::{Cancelled, Candidate, Draws, Fold, Learner, MaxFeatures, Model, Table, Work};

/// Hyper-parameters of the published grid (the paper, Table 11).
const TREES: [u32; 3] = [50, 100, 150];
const MAX_FEATURES: [MaxFeatures; 3] = [MaxFeatures::All, MaxFeatures::Sqrt, MaxFeatures::Log2];
const MAX_DEPTHS: [u32; 3] = [50, 100, 150];
/// Limit on the number of rows.
const MAX_ROWS: usize = 4096;

/// Mean of trees that are grown on bootstrap samples of the rows (Breiman, "Random forests",
/// Machine Learning 45(1), 2001).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    trees: Vec<Tree>,
}

/// The 27 forests of the grid.
///
/// Few of them are grown. The first 50 trees of a forest of 150 are the forest of 50. Settings with
/// the same number of features per split give the same forest, and so do depth limits that no
/// branch reached.
pub struct Forests {
    /// Seed of every forest.
    pub seed: u32,
}

/// Forests of one shape, for all numbers of trees.
struct Grown {
    features_per_split: usize,
    max_depth: u32,
    /// Whether the depth limit ended a branch of any tree.
    cut: bool,
    /// For each number of trees, the prediction of each row by a forest without its fold.
    held_out: Vec<Vec<f64>>,
    forest: Forest,
}

impl Learner for Forests {
    fn steps(&self) -> u64 {
        (MAX_FEATURES.len() * MAX_DEPTHS.len()) as u64
    }

    fn candidates(&self, table: &Table, work: &mut Work<'_>) -> Result<Vec<Candidate>, Cancelled> {
        let mut candidates = Vec::new();
        let mut grown: Vec<Grown> = Vec::new();
        for max_features in MAX_FEATURES {
            let features_per_split = max_features.of(table.features[0].len());
            for max_depth in MAX_DEPTHS {
                work.step()?;
                if table.rows() > MAX_ROWS {
                    continue;
                }
                let same = |grown: &&Grown| {
                    grown.features_per_split == features_per_split && (grown.max_depth == max_depth || !grown.cut)
                };
                let known = grown.iter().position(|grown| same(&grown));
                let index = known.unwrap_or_else(|| {
                    grown.push(Grown::on(table, features_per_split, max_depth, self.seed));
                    grown.len() - 1
                });
                for (trees, held_out) in TREES.into_iter().zip(&grown[index].held_out) {
                    candidates.push(Candidate {
                        technique: Technique::RandomForest { trees, max_features, max_depth },
                        held_out: held_out.clone(),
                        model: Model::Forest(Forest { trees: grown[index].forest.trees[..trees as usize].to_vec() }),
                    });
                }
            }
        }
        Ok(candidates)
    }
}

impl Grown {
    fn on(table: &Table, features_per_split: usize, max_depth: u32, seed: u32) -> Self {
        let shape = (TREES[2], features_per_split, max_depth);
        let forest = grow(table, None, shape, seed);
        let mut cut = forest.is_cut();
        let mut held_out = vec![vec![0.0; table.rows()]; TREES.len()];
        for fold in Fold::all(table.rows()) {
            let without = grow(table, Some(fold), shape, seed);
            cut |= without.is_cut();
            for row in (0..table.rows()).filter(|row| fold.has(*row)) {
                let mut sum = 0.0;
                for (number, tree) in (1..).zip(&without.trees) {
                    sum += tree.at(&table.features[row]);
                    if let Some(place) = TREES.iter().position(|trees| *trees == number) {
                        held_out[place][row] = sum / f64::from(number);
                    }
                }
            }
        }
        Self { features_per_split, max_depth, cut, held_out, forest }
    }
}

impl Forest {
    /// Grows a forest on all rows, without a depth limit and with all features at each split.
    pub fn of(table: &Table, trees: u32, seed: u32) -> Self {
        grow(table, None, (trees, table.features[0].len(), u32::MAX), seed)
    }

    /// Returns the mean prediction of the trees at `features`.
    pub fn at(&self, features: &[f64]) -> f64 {
        self.trees.iter().map(|tree| tree.at(features)).sum::<f64>() / self.trees.len() as f64
    }

    fn is_cut(&self) -> bool {
        self.trees.iter().any(Tree::is_cut)
    }
}

impl MaxFeatures {
    /// Returns the number of features per split.
    fn of(self, features: usize) -> usize {
        match self {
            Self::All => features,
            Self::Sqrt => features.isqrt(),
            Self::Log2 => features.checked_ilog2().unwrap_or(0) as usize,
        }
        .max(1)
    }
}

/// Grows a forest of the given number of trees, features per split and depth limit on all rows
/// outside a fold. All forests use the same random numbers, those of scikit-learn with
/// `random_state` = `seed`.
fn grow(
    table: &Table,
    left_out: Option<Fold>,
    (trees, features_per_split, max_depth): (u32, usize, u32),
    seed: u32,
) -> Forest {
    let kept: Vec<usize> = (0..table.rows()).filter(|row| !left_out.is_some_and(|fold| fold.has(*row))).collect();
    let by = |feature: usize| {
        let mut rows = kept.clone();
        rows.sort_by(|a, b| table.features[*a][feature].total_cmp(&table.features[*b][feature]));
        rows
    };
    let sorted: Vec<Vec<usize>> = (0..table.features[0].len()).map(by).collect();
    let mut seeds = Draws::new(seed);
    let tree = |_| {
        let start = Draws::new(seeds.tree_seed());
        // scikit-learn starts the bootstrap and the splits of a tree from the same seed.
        let (mut rows, mut splits) = (start.clone(), start);
        let mut weights = vec![0.0; table.rows()];
        for _ in &kept {
            weights[kept[rows.below(kept.len() as u32) as usize]] += 1.0;
        }
        let drawn =
            sorted.iter().map(|rows| rows.iter().copied().filter(|row| weights[*row] > 0.0).collect()).collect();
        Tree::grow(&Ground { table, weights, features_per_split, max_depth }, drawn, splits.splits())
    };
    Forest { trees: (0..trees).map(tree).collect() }
}
