//! Bounded minimisation of a smooth function.

use crate::products::{add_scaled, dot};

/// Number of steps whose gradient change is stored.
const MEMORY: usize = 10;
/// Share of the decrease predicted by the slope that a step must achieve (Armijo condition).
const SUFFICIENT: f64 = 1e-4;
/// Limit on backtracking within one step.
const SHORTENINGS: u32 = 20;
/// Relative decrease below which the search ends.
const CONVERGED: f64 = 1e-6;

/// A step and the change of the gradient along it.
struct Pair {
    step: Vec<f64>,
    turn: Vec<f64>,
}

/// Minimises a function within bounds from `point`, until no step improves it or the step limit is
/// reached.
///
/// The function writes its gradient and returns its value; values that are not finite count as too
/// high.
///
/// L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Math.
/// Program. 45, 1989) with projection: a coordinate at a bound stays if its gradient points
/// outwards (Bertsekas, "Projected Newton methods for optimization problems with simple
/// constraints", SIAM J. Control Optim. 20(2), 1982).
pub fn minimise(
    mut point: Vec<f64>,
    bounds: &[(f64, f64)],
    steps: u32,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Vec<f64> {
    project(&mut point, bounds);
    let mut slope = vec![0.0; point.len()];
    let mut value = function(&point, &mut slope);
    let mut memory: Vec<Pair> = Vec::new();
    for _ in 0..steps {
        let free: Vec<bool> = (0..point.len()).map(|i| is_free(point[i], bounds[i], slope[i])).collect();
        let direction = direction(&slope, &free, &memory);
        let mut length = if memory.is_empty() { first_length(&direction) } else { 1.0 };
        let mut reached = None;
        for _ in 0..SHORTENINGS {
            let mut candidate = point.clone();
            add_scaled(&mut candidate, length, &direction);
            project(&mut candidate, bounds);
            let step: Vec<f64> = candidate.iter().zip(&point).map(|(to, from)| to - from).collect();
            let promise = dot(&slope, &step);
            let mut there = vec![0.0; point.len()];
            let found = function(&candidate, &mut there);
            if promise < 0.0 && found <= value + SUFFICIENT * promise {
                reached = Some((candidate, step, found, there));
                break;
            }
            length *= shorter(promise, found - value);
        }
        let Some((candidate, step, found, there)) = reached else { break };
        let decrease = value - found;
        let turn: Vec<f64> = there.iter().zip(&slope).map(|(to, from)| to - from).collect();
        if memory.len() == MEMORY {
            memory.remove(0);
        }
        memory.push(Pair { step, turn });
        (point, value, slope) = (candidate, found, there);
        if decrease <= CONVERGED * value.abs().max(1.0) {
            break;
        }
    }
    point
}

fn project(point: &mut [f64], bounds: &[(f64, f64)]) {
    for (x, (least, most)) in point.iter_mut().zip(bounds) {
        *x = x.clamp(*least, *most);
    }
}

fn is_free(x: f64, (least, most): (f64, f64), slope: f64) -> bool {
    !(x <= least && slope > 0.0 || x >= most && slope < 0.0)
}

/// Returns the length of a first step, which changes the coordinates by 1 in total.
fn first_length(direction: &[f64]) -> f64 {
    (1.0 / direction.iter().map(|d| d.abs()).sum::<f64>()).min(1.0)
}

/// Returns the factor to shorten a step by: to the minimum of the parabola through both values and
/// the slope, within limits.
fn shorter(promise: f64, rise: f64) -> f64 {
    let share = -promise / (2.0 * (rise - promise));
    if share.is_finite() { share.clamp(0.1, 0.5) } else { 0.1 }
}

/// Returns −Hs by the two-loop recursion (Nocedal and Wright, "Numerical Optimization", 2nd ed.,
/// algorithm 7.4) over the free coordinates; pairs without positive curvature there are skipped.
fn direction(slope: &[f64], free: &[bool], memory: &[Pair]) -> Vec<f64> {
    let masked = |vector: &[f64]| -> Vec<f64> {
        vector.iter().zip(free).map(|(x, free)| if *free { *x } else { 0.0 }).collect()
    };
    let pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = memory
        .iter()
        .map(|pair| (masked(&pair.step), masked(&pair.turn)))
        .map(|(step, turn)| {
            let curvature = dot(&step, &turn);
            (step, turn, curvature)
        })
        .filter(|(_, turn, curvature)| *curvature > 1e-10 * dot(turn, turn))
        .collect();
    let mut direction = masked(slope);
    let mut along = Vec::with_capacity(pairs.len());
    for (step, turn, curvature) in pairs.iter().rev() {
        along.push(dot(step, &direction) / curvature);
        add_scaled(&mut direction, -along[along.len() - 1], turn);
    }
    if let Some((_, turn, curvature)) = pairs.last() {
        let scale = curvature / dot(turn, turn);
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for ((step, turn, curvature), along) in pairs.iter().zip(along.iter().rev()) {
        let back = dot(turn, &direction) / curvature;
        add_scaled(&mut direction, along - back, step);
    }
    direction.iter_mut().for_each(|d| *d = -*d);
    direction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test function of Rosenbrock, "An automatic method for finding the greatest or least
    /// value of a function", Comput. J. 3(3), 1960.
    fn valley(x: &[f64], slope: &mut [f64]) -> f64 {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        slope[0] = -2.0 * a - 400.0 * x[0] * b;
        slope[1] = 200.0 * b;
        a * a + 100.0 * b * b
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let found = minimise(vec![-1.2, 1.0], &[(-9.0, 9.0); 2], 200, valley);
        assert!((found[0] - 1.0).abs() < 1e-3 && (found[1] - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_bound_holds_and_the_rest_is_minimised_along_it() {
        let found = minimise(vec![-1.2, 1.0], &[(-9.0, 0.5), (-9.0, 9.0)], 200, valley);
        assert_eq!(found[0], 0.5);
        assert!((found[1] - 0.25).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn a_start_outside_the_box_or_where_there_is_no_value_ends_in_the_box() {
        let nowhere = |_: &[f64], _: &mut [f64]| f64::NAN;
        assert_eq!(minimise(vec![7.0], &[(0.0, 2.0)], 9, nowhere), [2.0]);
        assert_eq!(minimise(vec![], &[], 9, |_, _| 1.0), [0.0; 0]);
    }
}
