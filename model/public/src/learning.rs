//! Learns the variances of the effects by expectation maximisation of the marginal likelihood.

use std::collections::BTreeMap;

use foreglow_numeric::Matrix;

use crate::effects::{Effect, Noise, Row};
use crate::moments::{Coefficients, Indexed, PairSums, Solved};
use crate::variances::LEAST;
use crate::{Variances, squared};

/// Learns the variances of rows: ln(images/s) and their columns.
pub(crate) fn learned(rows: &[(Row, f64)], start: Variances, steps: usize) -> Variances {
    let coefficients = Coefficients::of(rows.iter().map(|(row, _)| row));
    let indexed: Vec<Indexed> = rows.iter().map(|(row, log_speed)| coefficients.index(row, *log_speed)).collect();
    let mut variances = start;
    for _ in 0..steps {
        let Some(next) = step(&coefficients, &indexed, &variances) else { break };
        variances = next;
    }
    variances
}

/// One step of expectation maximisation.
fn step(coefficients: &Coefficients, rows: &[Indexed], variances: &Variances) -> Option<Variances> {
    let solved = Solved::of(coefficients, rows, variances)?;
    let inverse = solved.factor.inverse();
    let mut next = variances.clone();
    let (mut sums, mut counts) = ([0.0; Effect::COUNT], [0.0; Effect::COUNT]);
    for ((effect, _), index) in &coefficients.0 {
        sums[*effect as usize] += squared(solved.mean[*index]) + inverse[*index][*index];
        counts[*effect as usize] += 1.0;
    }
    for effect in 1..Effect::COUNT {
        if counts[effect] > 0.0 {
            // A weak prior of one level with a standard deviation of 0.1 keeps rare effects apart
            // from 0.
            next.effects[effect] = ((sums[effect] + 0.01) / (counts[effect] + 1.0)).max(LEAST);
        }
    }
    let pair_sum: f64 = solved.pairs.values().map(|pair| square(pair, variances.pair, &solved.mean, &inverse)).sum();
    next.pair = (pair_sum / solved.pairs.len() as f64).max(LEAST);
    let (mut noise, mut rows_of) = ([0.0; Noise::COUNT], [0.0; Noise::COUNT]);
    for row in rows {
        let pair = &solved.pairs[&row.pair];
        let shrinkage = pair.shrinkage(variances.pair);
        let effect = shrinkage * (pair.residual - along(&pair.columns, &solved.mean));
        let fitted: f64 = row.columns.iter().map(|(i, x)| x * solved.mean[*i]).sum();
        let mut direction: BTreeMap<usize, f64> = row.columns.iter().copied().collect();
        for (i, x) in &pair.columns {
            *direction.entry(*i).or_default() -= shrinkage * x;
        }
        noise[row.noise] += squared(row.residual - fitted - effect) + quadratic(&direction, &inverse) + shrinkage;
        rows_of[row.noise] += 1.0;
    }
    for kind in 0..Noise::COUNT {
        next.noise[kind] = ((noise[kind] + 0.02) / (rows_of[kind] + 1.0)).max(LEAST);
    }
    Some(next)
}

type Sparse = BTreeMap<usize, f64>;

fn along(columns: &Sparse, mean: &[f64]) -> f64 {
    columns.iter().map(|(i, x)| x * mean[*i]).sum()
}

fn quadratic(columns: &Sparse, inverse: &Matrix) -> f64 {
    columns.iter().map(|(i, x)| x * columns.iter().map(|(j, y)| y * inverse[*i][*j]).sum::<f64>()).sum()
}

/// Returns the expected square of a pair's effect.
fn square(pair: &PairSums, variance: f64, mean: &[f64], inverse: &Matrix) -> f64 {
    let shrinkage = pair.shrinkage(variance);
    let effect = shrinkage * (pair.residual - along(&pair.columns, mean));
    squared(effect) + squared(shrinkage) * quadratic(&pair.columns, inverse) + shrinkage
}
