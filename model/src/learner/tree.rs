//! Regression trees.

use serde::{Deserialize, Serialize};

use crate::learner::Table;
use crate::learner::draws::SplitDraws;

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

/// Which features the splits look at. A feature that is constant in a node is so in those below it and is not looked at
/// again, but still drawn; the lists and their order are scikit-learn's (`node_split_best` in its `_splitter.pyx`), which
/// the numbers drawn depend on.
struct Order {
    draws: SplitDraws,
    /// Those known to be constant first.
    features: Vec<usize>,
    constant: Vec<usize>,
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
    pub(crate) fn grow(ground: &Ground<'_>, sorted: Vec<Vec<usize>>, draws: SplitDraws) -> Self {
        let mut tree = Self { nodes: Vec::new(), cut: false };
        let features: Vec<usize> = (0..sorted.len()).collect();
        let mut order = Order { draws, constant: features.clone(), features };
        tree.branch(ground, sorted, (0, 0), &mut order);
        tree
    }

    /// Whether a larger limit of the depth would have given another tree.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// A branch so deep, where so many features are known to be constant.
    fn branch(
        &mut self,
        ground: &Ground<'_>,
        sorted: Vec<Vec<usize>>,
        (depth, constant): (u32, usize),
        order: &mut Order,
    ) {
        let may_split = !ground.is_pure(&sorted[0]);
        self.cut |=
            may_split && depth == ground.max_depth && sorted.iter().enumerate().any(|(j, rows)| ground.varies(j, rows));
        let looked = (may_split && depth < ground.max_depth).then(|| ground.best(&sorted, constant, order));
        let Some((split, constant)) = looked.and_then(|(split, constant)| Some((split?, constant))) else {
            self.nodes.push(Node::Leaf(ground.mean(&sorted[0])));
            return;
        };
        let goes_on = |row: &usize| ground.table.features[*row][split.feature] <= split.threshold;
        let (below, above): (Vec<_>, Vec<_>) =
            sorted.into_iter().map(|rows| rows.into_iter().partition::<Vec<_>, _>(goes_on)).unzip();
        let at = self.nodes.len();
        self.nodes.push(Node::Leaf(0.0));
        self.branch(ground, below, (depth + 1, constant), order);
        let next = self.nodes.len() as u32;
        self.nodes[at] = Node::Split { feature: split.feature as u32, threshold: split.threshold, above: next };
        self.branch(ground, above, (depth + 1, constant), order);
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
        rows.iter().fold((0.0, 0.0), |sums, row| self.add(sums, *row, 1.0))
    }

    fn is_pure(&self, rows: &[usize]) -> bool {
        let mean = self.mean(rows);
        let error: f64 = rows.iter().map(|row| self.weights[*row] * (self.table.target[*row] - mean).powi(2)).sum();
        let scale: f64 = rows.iter().map(|row| self.weights[*row] * self.table.target[*row].powi(2)).sum();
        error <= PURE * scale
    }

    /// Whether a feature differs among rows in its order.
    fn varies(&self, feature: usize, rows: &[usize]) -> bool {
        rows.first().map(|row| self.table.features[*row][feature])
            != rows.last().map(|row| self.table.features[*row][feature])
    }

    /// The split that lowers the squared error most, and how many features are known to be constant now; `None` where all
    /// are. Features are looked at in an order that is drawn, as many as are asked for and on until one of them varies.
    fn best(&self, sorted: &[Vec<usize>], known: usize, order: &mut Order) -> (Option<Split>, usize) {
        let features = &mut order.features;
        let (mut waiting, mut seen, mut drawn, mut found) = (features.len(), 0, 0, 0);
        let mut best: Option<Split> = None;
        while waiting > known + found && (seen < self.features_per_split || seen <= drawn + found) {
            seen += 1;
            let at = order.draws.between(drawn, waiting - found);
            if at < known {
                features.swap(drawn, at);
                drawn += 1;
                continue;
            }
            let at = at + found;
            let feature = features[at];
            if !self.varies(feature, &sorted[feature]) {
                features.swap(at, known + found);
                found += 1;
                continue;
            }
            waiting -= 1;
            features.swap(waiting, at);
            self.better(feature, &sorted[feature], &mut best);
        }
        features[..known].copy_from_slice(&order.constant[..known]);
        order.constant[known..known + found].copy_from_slice(&features[known..known + found]);
        (best, known + found)
    }

    /// Puts the best split by a feature in the place of `best` where it is better. Features that part the rows in the same
    /// two are a tie that rounding decides, so sums are taken as scikit-learn takes them.
    fn better(&self, feature: usize, rows: &[usize], best: &mut Option<Split>) {
        let value = |row: usize| self.table.features[row][feature];
        let (weight, sum) = self.sums(rows);
        let (mut low_weight, mut low_sum) = (0.0, 0.0);
        let mut start = 0;
        for end in 1..rows.len() {
            let (low, high) = (value(rows[end - 1]), value(rows[end]));
            if low == high {
                continue;
            }
            (low_weight, low_sum) = if end - start <= rows.len() - end {
                let more = &rows[start..end];
                more.iter().fold((low_weight, low_sum), |sums, row| self.add(sums, *row, 1.0))
            } else {
                rows[end..].iter().rev().fold((weight, sum), |sums, row| self.add(sums, *row, -1.0))
            };
            start = end;
            let (high_weight, high_sum) = (weight - low_weight, sum - low_sum);
            let gain = low_sum * low_sum / low_weight + high_sum * high_sum / high_weight;
            if best.as_ref().is_none_or(|best| gain > best.gain) {
                // Halved before they are added, and never rounded up to the larger value.
                let middle = low / 2.0 + high / 2.0;
                let threshold = if middle < high { middle } else { low };
                *best = Some(Split { feature, threshold, gain });
            }
        }
    }

    fn add(&self, (weight, sum): (f64, f64), row: usize, sign: f64) -> (f64, f64) {
        let weighted = sign * self.weights[row];
        (weight + weighted, sum + weighted * self.table.target[row])
    }
}
