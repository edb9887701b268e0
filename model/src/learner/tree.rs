//! Regression trees.

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::learner::Table;
use crate::learner::forest::below;

/// A split must lower the squared error by more than this share of it: less is rounding.
const PURE: f64 = 1e-14;

/// A binary tree of splits (Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984, ch. 8), grown
/// until every leaf is pure: squared error, two rows to split, one to a leaf, as scikit-learn's trees are by default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// The root first.
    nodes: Vec<Node>,
    /// Whether the limit of its depth ended a branch.
    cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Node {
    /// The value at it.
    Leaf(f64),
    /// Rows whose feature is at most the threshold go to the node after this one, the others to `above`.
    Split { feature: u32, threshold: f64, above: u32 },
}

/// What a tree is grown on.
pub(crate) struct Ground<'a> {
    pub(crate) table: &'a Table,
    /// How often each row counts.
    pub(crate) weights: Vec<f64>,
    /// Features that a split looks at.
    pub(crate) features_per_split: usize,
    /// Splits at most from the root to a leaf.
    pub(crate) max_depth: u32,
}

struct Split {
    feature: usize,
    threshold: f64,
    gain: f64,
}

impl Tree {
    /// Grows a tree on rows that count, `sorted` by each feature: one list of rows a feature.
    pub(crate) fn grow(ground: &Ground<'_>, sorted: Vec<Vec<usize>>, draws: &mut ChaCha8Rng) -> Self {
        let mut tree = Self { nodes: Vec::new(), cut: false };
        tree.branch(ground, sorted, 0, draws);
        tree
    }

    /// Whether a larger limit of the depth would have given another tree.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    fn branch(&mut self, ground: &Ground<'_>, sorted: Vec<Vec<usize>>, depth: u32, draws: &mut ChaCha8Rng) {
        let split = ground.best(&sorted, draws);
        self.cut |= split.is_some() && depth == ground.max_depth;
        let Some(split) = split.filter(|_| depth < ground.max_depth) else {
            self.nodes.push(Node::Leaf(ground.mean(&sorted[0])));
            return;
        };
        let goes_on = |row: &usize| ground.table.features[*row][split.feature] <= split.threshold;
        let (below, above): (Vec<_>, Vec<_>) =
            sorted.into_iter().map(|rows| rows.into_iter().partition::<Vec<_>, _>(goes_on)).unzip();
        let at = self.nodes.len();
        self.nodes.push(Node::Leaf(0.0));
        self.branch(ground, below, depth + 1, draws);
        let next = self.nodes.len() as u32;
        self.nodes[at] = Node::Split { feature: split.feature as u32, threshold: split.threshold, above: next };
        self.branch(ground, above, depth + 1, draws);
    }

    /// The value at `features`.
    pub(crate) fn at(&self, features: &[f64]) -> f64 {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Leaf(value) => return value,
                Node::Split { feature, threshold, .. } if features[feature as usize] <= threshold => at += 1,
                Node::Split { above, .. } => at = above as usize,
            }
        }
    }
}

impl Ground<'_> {
    fn mean(&self, rows: &[usize]) -> f64 {
        let (weight, sum) = self.sums(rows);
        sum / weight
    }

    fn sums(&self, rows: &[usize]) -> (f64, f64) {
        rows.iter().fold((0.0, 0.0), |(weight, sum), row| {
            (weight + self.weights[*row], sum + self.weights[*row] * self.table.target[*row])
        })
    }

    /// The split that lowers the squared error most; `None` where none does. Features are looked at in an order that is
    /// drawn, as many as are asked for and on until one of them varies.
    fn best(&self, sorted: &[Vec<usize>], draws: &mut ChaCha8Rng) -> Option<Split> {
        let (weight, sum) = self.sums(&sorted[0]);
        let mean = sum / weight;
        let error: f64 =
            sorted[0].iter().map(|row| self.weights[*row] * (self.table.target[*row] - mean).powi(2)).sum();
        let scale: f64 = sorted[0].iter().map(|row| self.weights[*row] * self.table.target[*row].powi(2)).sum();
        if error <= PURE * scale {
            return None;
        }
        let mut waiting: Vec<usize> = (0..sorted.len()).collect();
        let mut best: Option<Split> = None;
        let (mut seen, mut varying) = (0, 0);
        while !waiting.is_empty() && (seen < self.features_per_split || varying == 0) {
            let feature = waiting.swap_remove(below(waiting.len(), draws));
            seen += 1;
            let rows = &sorted[feature];
            let value = |row: usize| self.table.features[row][feature];
            if value(rows[0]) == value(rows[rows.len() - 1]) {
                continue;
            }
            varying += 1;
            let (mut low_weight, mut low_sum) = (0.0, 0.0);
            for pair in rows.windows(2) {
                low_weight += self.weights[pair[0]];
                low_sum += self.weights[pair[0]] * self.table.target[pair[0]];
                let (low, high) = (value(pair[0]), value(pair[1]));
                if low == high {
                    continue;
                }
                let (high_weight, high_sum) = (weight - low_weight, sum - low_sum);
                let gain = (low_sum / low_weight - high_sum / high_weight).powi(2) * low_weight * high_weight;
                if best.as_ref().is_none_or(|best| gain > best.gain) {
                    // Halved before they are added, and never rounded up to the larger value.
                    let middle = low / 2.0 + high / 2.0;
                    let threshold = if middle < high { middle } else { low };
                    best = Some(Split { feature, threshold, gain });
                }
            }
        }
        best
    }
}
