//! Regression trees.

use serde::{Deserialize, Serialize};

use crate::Table;
use crate::draws::SplitDraws;

/// Relative squared error below which a node counts as pure.
const PURE: f64 = 1e-14;

/// Regression tree (Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees",
/// 1984, ch. 8), grown until every leaf is pure: squared error, at least two rows to split and one
/// in a leaf, like scikit-learn's defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Nodes in depth-first order, the root first.
    nodes: Vec<Node>,
    /// Whether the depth limit ended a branch.
    cut: bool,
}

/// State for choosing the features considered at splits. A feature that is constant in a node is
/// constant below it; it is still drawn, but not evaluated again. The lists and their order follow
/// scikit-learn (`node_split_best` in `_splitter.pyx`), because the drawn numbers depend on them.
struct Order {
    draws: SplitDraws,
    /// Features, the known constant ones first.
    features: Vec<usize>,
    constant: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Node {
    /// The value of the leaf.
    Leaf(f64),
    /// Rows whose feature is at most the threshold go to the next node, others to `above`.
    Split { feature: u32, threshold: f64, above: u32 },
}

/// Training data and limits of a tree.
pub struct Ground<'a> {
    /// The rows.
    pub table: &'a Table,
    /// Number of times that each row occurs in the bootstrap sample.
    pub weights: Vec<f64>,
    /// Number of features considered at a split.
    pub features_per_split: usize,
    /// Depth limit.
    pub max_depth: u32,
}

struct Split {
    feature: usize,
    threshold: f64,
    gain: f64,
}

impl Tree {
    /// Grows a tree; `sorted` holds the rows with positive weight, sorted by each feature.
    pub fn grow(ground: &Ground<'_>, sorted: Vec<Vec<usize>>, draws: SplitDraws) -> Self {
        let mut tree = Self { nodes: Vec::new(), cut: false };
        let features: Vec<usize> = (0..sorted.len()).collect();
        let mut order = Order { draws, constant: features.clone(), features };
        tree.branch(ground, sorted, (0, 0), &mut order);
        tree
    }

    /// Whether the depth limit ended a branch, so that a larger limit could give another tree.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Grows a branch at `depth`, below which the first `constant` features are known to be
    /// constant.
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

    /// Returns the prediction at `features`.
    pub fn at(&self, features: &[f64]) -> f64 {
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
        let square = |x: f64| x * x;
        let error: f64 = rows.iter().map(|row| self.weights[*row] * square(self.table.target[*row] - mean)).sum();
        let scale: f64 = rows.iter().map(|row| self.weights[*row] * square(self.table.target[*row])).sum();
        error <= PURE * scale
    }

    /// Whether a feature varies among rows sorted by it.
    fn varies(&self, feature: usize, rows: &[usize]) -> bool {
        rows.first().map(|row| self.table.features[*row][feature])
            != rows.last().map(|row| self.table.features[*row][feature])
    }

    /// Returns the split with the largest decrease of the squared error, if any feature varies, and
    /// the number of features now known to be constant. Features are drawn without replacement: as
    /// many as configured, and then until one of them varies.
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

    /// Replaces `best` if this feature has a better split. Features that divide the rows in the
    /// same way are tied up to rounding, so sums are computed in scikit-learn's order.
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
                // Halves before adding, to avoid overflow, and never rounds up to the larger value.
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
