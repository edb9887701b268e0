//! Non-negative least squares.

use crate::Cholesky;

/// Share of its scale below which a gradient is rounding error, so that the optimum is reached.
const TOLERANCE: f64 = 1e-11;
/// Limit on exchanges per unknown, against cycling caused by rounding; never reached otherwise.
const EXCHANGES: usize = 30;

/// Returns the x ≥ 0 that minimises ‖Ax − b‖².
///
/// `rows` is A, n × p, row by row, and `target` is b, n numbers. Source: Lawson and Hanson,
/// "Solving Least Squares Problems", 1974, chapter 23, algorithm NNLS, on the normal equations of
/// columns scaled to length 1 (as in Bro and De Jong, "A fast non-negativity-constrained least
/// squares algorithm", Journal of Chemometrics 11, 1997). The gradient is computed from the
/// residuals, so that squaring A costs no precision in the optimality test. A column of zeros, and
/// one that depends on others, gets 0.
pub fn nnls(rows: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    let lengths: Vec<f64> = (0..columns).map(|j| length(rows.iter().map(|row| row[j]))).collect();
    // The inverse of a length below the smallest normal number is infinite.
    let unit = |length: f64| if length >= f64::MIN_POSITIVE { 1.0 / length } else { 0.0 };
    let rows: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().zip(&lengths).map(|(value, l)| value * unit(*l)).collect()).collect();
    let scale = length(target.iter().copied());

    let mut solution = vec![0.0; columns];
    let mut passive: Vec<usize> = Vec::new();
    let mut refused: Vec<usize> = Vec::new();
    for _ in 0..EXCHANGES * columns {
        let gradient = gradient(&rows, target, &solution);
        let steepest = (0..columns)
            .filter(|j| !passive.contains(j) && !refused.contains(j) && gradient[*j] > TOLERANCE * scale)
            .max_by(|a, b| gradient[*a].total_cmp(&gradient[*b]));
        let Some(entering) = steepest else { break };
        passive.push(entering);
        let mut ideal = unconstrained(&rows, target, &passive);
        // Rounding can admit a column whose weight would be negative (Lawson and Hanson, chapter
        // 23, step 6).
        if ideal.last().is_none_or(|value| *value <= 0.0) || ideal.iter().any(|value| !value.is_finite()) {
            passive.pop();
            refused.push(entering);
            continue;
        }
        refused.clear();
        // Each step removes a column.
        for _ in 0..columns {
            if ideal.iter().all(|value| *value > 0.0) {
                break;
            }
            step_to_the_bound(&mut solution, &mut passive, &ideal);
            ideal = unconstrained(&rows, target, &passive);
        }
        solution.fill(0.0);
        for (j, value) in passive.iter().zip(&ideal) {
            solution[*j] = *value;
        }
    }
    solution.iter().zip(&lengths).map(|(value, length)| value * unit(*length)).collect()
}

/// Moves the solution towards the unconstrained one until the first unknown reaches 0, and removes
/// that unknown.
fn step_to_the_bound(solution: &mut [f64], passive: &mut Vec<usize>, ideal: &[f64]) {
    let falling = passive.iter().zip(ideal).filter(|(_, ideal)| **ideal <= 0.0);
    let shares = falling.map(|(j, ideal)| (*j, solution[*j] / (solution[*j] - ideal)));
    let Some((bound, share)) = shares.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    for (j, ideal) in passive.iter().zip(ideal) {
        solution[*j] += share * (ideal - solution[*j]);
    }
    solution[bound] = 0.0;
    passive.retain(|j| solution[*j] > 0.0);
}

/// Returns the least-squares solution for some of the columns, in their order.
fn unconstrained(rows: &[Vec<f64>], target: &[f64], columns: &[usize]) -> Vec<f64> {
    let dot = |f: &dyn Fn(usize) -> f64| (0..rows.len()).map(f).sum::<f64>();
    let product = |a: usize, b: usize| dot(&|row| rows[row][a] * rows[row][b]);
    let matrix: Vec<Vec<f64>> = columns.iter().map(|a| columns.iter().map(|b| product(*a, *b)).collect()).collect();
    let rhs: Vec<f64> = columns.iter().map(|a| dot(&|row| rows[row][*a] * target[row])).collect();
    let system = Cholesky::of_semidefinite(&matrix);
    let mut solved = system.solve(&rhs);
    // One step of iterative refinement restores the precision that the normal equations lost.
    let residual: Vec<f64> = (0..rows.len())
        .map(|row| target[row] - columns.iter().zip(&solved).map(|(j, value)| rows[row][*j] * value).sum::<f64>())
        .collect();
    let rest: Vec<f64> = columns.iter().map(|a| dot(&|row| rows[row][*a] * residual[row])).collect();
    for (value, correction) in solved.iter_mut().zip(system.solve(&rest)) {
        *value += correction;
    }
    solved
}

/// Returns Aᵀ(b − Ax), the negative gradient of the squared error.
fn gradient(rows: &[Vec<f64>], target: &[f64], solution: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; solution.len()];
    for (row, target) in rows.iter().zip(target) {
        let residual = target - row.iter().zip(solution).map(|(value, x)| value * x).sum::<f64>();
        for (sum, value) in gradient.iter_mut().zip(row) {
            *sum += value * residual;
        }
    }
    gradient
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::nnls;

    proptest! {
        /// Karush–Kuhn–Tucker conditions: no weight is negative, the gradient is zero for positive
        /// weights, and the error does not fall if a zero weight increases.
        #[test]
        fn a_non_negative_fit_is_optimal(
            (columns, values) in (1..6_usize, 1..20_usize).prop_flat_map(|(columns, rows)| {
                (Just(columns), prop::collection::vec(prop::collection::vec(-10.0..10.0_f64, columns + 1), rows))
            })
        ) {
            let rows: Vec<Vec<f64>> = values.iter().map(|row| row[..columns].to_vec()).collect();
            let target: Vec<f64> = values.iter().map(|row| row[columns]).collect();
            let solution = nnls(&rows, &target);
            let length = |values: Vec<f64>| values.iter().map(|value| value * value).sum::<f64>().sqrt();
            for j in 0..columns {
                prop_assert!(solution[j] >= 0.0);
                let gradient: f64 = rows.iter().zip(&target).map(|(row, target)| {
                    row[j] * (target - row.iter().zip(&solution).map(|(value, x)| value * x).sum::<f64>())
                }).sum();
                let scale = length(rows.iter().map(|row| row[j]).collect()) * length(target.clone()) + 1e-300;
                prop_assert!(gradient <= 1e-7 * scale, "column {j}: {gradient} of {scale}");
                prop_assert!(solution[j] == 0.0 || gradient.abs() <= 1e-7 * scale, "column {j}: {gradient} of {scale}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_non_negative_fit_of_any_numbers_ends(
            values in prop::collection::vec(prop::collection::vec(prop::num::f64::ANY, 5), 1..12)
        ) {
            let rows: Vec<Vec<f64>> = values.iter().map(|row| row[..4].to_vec()).collect();
            let target: Vec<f64> = values.iter().map(|row| row[4]).collect();
            prop_assert_eq!(nnls(&rows, &target).len(), 4);
        }
    }

    #[test]
    fn a_column_of_the_smallest_numbers_gets_no_weight() {
        assert_eq!(nnls(&[vec![5e-324, 1.0], vec![0.0, 2.0]], &[1.0, 2.0]), [0.0, 1.0]);
    }

    #[test]
    fn a_non_negative_fit_of_nothing_is_nothing() {
        assert!(nnls(&[], &[]).is_empty());
        assert_eq!(nnls(&[vec![0.0, 1.0]], &[2.0]), [0.0, 2.0]);
        assert_eq!(nnls(&[vec![1.0]], &[-2.0]), [0.0]);
    }
}
