//! Line search for a step with sufficient decrease.
//!
//! Source: Moré and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM
//! Trans. Math. Softw. 20(3), 1994, as implemented in MINPACK-2's `dcsrch` and `dcstep`, which
//! scipy's L-BFGS-B uses.

/// scipy's constants: sufficient decrease, curvature condition, and the relative width at which the
/// interval has converged.
const DECREASE: f64 = 1e-3;
const CURVATURE: f64 = 0.9;
const WIDTH: f64 = 0.1;
/// Bounds of an extrapolated step, as multiples of the distance from the best end of the interval.
const EXTRAPOLATE: (f64, f64) = (1.1, 4.0);
/// The interval must shrink to this share in two steps; otherwise it is bisected.
const SHRINK: f64 = 0.66;
const LONGEST: f64 = 1e10;

/// A step, the value of the function there, and its slope along the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) step: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
}

/// Result of evaluating a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Evaluate the function at this step next.
    Try(f64),
    /// The step satisfies both conditions.
    Done,
    /// No better step can be resolved.
    Stuck,
}

/// State of a line search.
#[derive(Clone, Debug)]
pub(super) struct LineSearch {
    start: Point,
    best: Point,
    other: Point,
    bracketed: bool,
    /// Until a step with sufficient decrease and a non-negative slope is seen, the search minimises
    /// the function minus its required decrease.
    first_stage: bool,
    width: f64,
    width_before: f64,
    bounds: (f64, f64),
}

impl LineSearch {
    /// Starts at a point with a negative slope; `step` is the first step.
    pub(super) fn new(value: f64, slope: f64, step: f64) -> Self {
        let start = Point { step: 0.0, value, slope };
        Self {
            start,
            best: start,
            other: start,
            bracketed: false,
            first_stage: true,
            width: LONGEST,
            width_before: 2.0 * LONGEST,
            bounds: (0.0, step + EXTRAPOLATE.1 * step),
        }
    }

    /// Processes the function at the requested step.
    pub(super) fn next(&mut self, at: Point) -> Next {
        let promise = DECREASE * self.start.slope;
        let enough = self.start.value + at.step * promise;
        if self.first_stage && at.value <= enough && at.slope >= 0.0 {
            self.first_stage = false;
        }
        let (low, high) = self.bounds;
        if at.value <= enough && at.slope.abs() <= CURVATURE * -self.start.slope {
            return Next::Done;
        }
        let at_end = (at.step == LONGEST && at.value <= enough && at.slope <= promise)
            || (at.step == 0.0 && (at.value > enough || at.slope >= promise));
        if at_end
            || !at.value.is_finite()
            || self.bracketed && (at.step <= low || at.step >= high || high - low <= WIDTH * high)
        {
            return Next::Stuck;
        }
        let step = if self.first_stage && at.value <= self.best.value && at.value > enough {
            // The function minus its required decrease.
            let tilt = |point: Point| Point {
                value: point.value - point.step * promise,
                slope: point.slope - promise,
                ..point
            };
            (self.best, self.other) = (tilt(self.best), tilt(self.other));
            let step = self.advance(tilt(at));
            let back = |point: Point| Point {
                value: point.value + point.step * promise,
                slope: point.slope + promise,
                ..point
            };
            (self.best, self.other) = (back(self.best), back(self.other));
            step
        } else {
            self.advance(at)
        };
        let step = self.narrow(step);
        Next::Try(step)
    }

    /// Keeps the interval shrinking and the step within its bounds.
    fn narrow(&mut self, mut step: f64) -> f64 {
        if self.bracketed {
            if (self.other.step - self.best.step).abs() >= SHRINK * self.width_before {
                step = self.best.step + 0.5 * (self.other.step - self.best.step);
            }
            self.width_before = self.width;
            self.width = (self.other.step - self.best.step).abs();
            self.bounds = (self.best.step.min(self.other.step), self.best.step.max(self.other.step));
        } else {
            let gone = step - self.best.step;
            self.bounds = (step + EXTRAPOLATE.0 * gone, step + EXTRAPOLATE.1 * gone);
        }
        let step = step.clamp(0.0, LONGEST);
        let (low, high) = self.bounds;
        if self.bracketed && (step <= low || step >= high || high - low <= WIDTH * high) {
            self.best.step
        } else {
            step
        }
    }

    /// Computes the safeguarded step of `dcstep` by cubic and secant interpolation, and updates the
    /// interval.
    fn advance(&mut self, at: Point) -> f64 {
        let (best, other) = (self.best, self.other);
        let turned = at.slope * best.slope.signum() < 0.0;
        let gap = at.step - best.step;
        let theta = 3.0 * (best.value - at.value) / gap + best.slope + at.slope;
        let scale = theta.abs().max(best.slope.abs()).max(at.slope.abs());
        let root = |radicand: f64| scale * radicand.max(0.0).sqrt();
        let radicand = (theta / scale) * (theta / scale) - best.slope / scale * (at.slope / scale);
        let secant = at.step + at.slope / (at.slope - best.slope) * (best.step - at.step);
        let step;
        if at.value > best.value {
            // Higher value: the minimum is bracketed.
            let gamma = if at.step < best.step { -root(radicand) } else { root(radicand) };
            let ratio = (gamma - best.slope + theta) / (2.0 * gamma - best.slope + at.slope);
            let cubic = best.step + ratio * gap;
            let quadratic = best.step + best.slope / ((best.value - at.value) / gap + best.slope) / 2.0 * gap;
            step = if (cubic - best.step).abs() <= (quadratic - best.step).abs() {
                cubic
            } else {
                cubic + (quadratic - cubic) / 2.0
            };
            self.bracketed = true;
        } else if turned {
            // Lower value and opposite slope: the minimum is bracketed.
            let gamma = if at.step > best.step { -root(radicand) } else { root(radicand) };
            let ratio = (gamma - at.slope + theta) / (2.0 * gamma - at.slope + best.slope);
            let cubic = at.step + ratio * (best.step - at.step);
            step = if (cubic - at.step).abs() > (secant - at.step).abs() { cubic } else { secant };
            self.bracketed = true;
        } else if at.slope.abs() < best.slope.abs() {
            // Lower value, smaller slope.
            let gamma = if at.step > best.step { -root(radicand) } else { root(radicand) };
            let ratio = (gamma - at.slope + theta) / (gamma + (best.slope - at.slope) + gamma);
            let cubic = if ratio < 0.0 && gamma != 0.0 {
                at.step + ratio * (best.step - at.step)
            } else if at.step > best.step {
                self.bounds.1
            } else {
                self.bounds.0
            };
            let nearer = (cubic - at.step).abs() < (secant - at.step).abs();
            if self.bracketed {
                let chosen = if nearer { cubic } else { secant };
                let limit = at.step + SHRINK * (other.step - at.step);
                step = if at.step > best.step { chosen.min(limit) } else { chosen.max(limit) };
            } else {
                let chosen = if nearer { secant } else { cubic };
                step = chosen.clamp(self.bounds.0, self.bounds.1);
            }
        } else if self.bracketed {
            // Lower value, no smaller slope: interpolates towards the other end.
            let gap = other.step - at.step;
            let theta = 3.0 * (at.value - other.value) / gap + other.slope + at.slope;
            let scale = theta.abs().max(other.slope.abs()).max(at.slope.abs());
            let radicand = (theta / scale) * (theta / scale) - other.slope / scale * (at.slope / scale);
            let root = scale * radicand.max(0.0).sqrt();
            let gamma = if at.step > other.step { -root } else { root };
            let ratio = (gamma - at.slope + theta) / (2.0 * gamma - at.slope + other.slope);
            step = at.step + ratio * gap;
        } else {
            step = if at.step > best.step { self.bounds.1 } else { self.bounds.0 };
        }
        if at.value > best.value {
            self.other = at;
        } else {
            if turned {
                self.other = best;
            }
            self.best = at;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search along a function from 0 and returns the accepted step.
    fn search(f: impl Fn(f64) -> (f64, f64), mut step: f64) -> Option<f64> {
        let (value, slope) = f(0.0);
        let mut search = LineSearch::new(value, slope, step);
        for _ in 0..20 {
            let (value, slope) = f(step);
            match search.next(Point { step, value, slope }) {
                Next::Try(next) => step = next,
                Next::Done => return Some(step),
                Next::Stuck => return None,
            }
        }
        None
    }

    #[test]
    fn a_step_that_satisfies_both_conditions_is_found_from_any_first_step() {
        // Moré and Thuente's first test function, with its minimum at √2.
        let f = |x: f64| (-x / (x * x + 2.0), (x * x - 2.0) / ((x * x + 2.0) * (x * x + 2.0)));
        for first in [1e-3, 0.1, 1.0, 10.0, 1e3] {
            let step = search(f, first).unwrap();
            let ((value, slope), (start, steepest)) = (f(step), f(0.0));
            assert!(value <= start + 1e-3 * step * steepest && slope.abs() <= 0.9 * -steepest, "{first}: {step}");
        }
    }
}
