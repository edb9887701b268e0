use super::*;
use crate::regression::tests::{grid, table};

#[test]
fn a_sum_of_two_powers_is_recovered_and_extrapolated() {
    let law = |x: &[f64], _: &[u32]| 4.0 * x[1] / x[0] + 0.5 * x[1];
    let training = grid(law);
    let prior = Prior { beyond: vec![0, 1], ..Prior::default() };
    let fits = fit(&training, &prior);
    for (x, most) in [([3.0, 50.0], 0.003), ([32.0, 1000.0], 0.01)] {
        let error = fits[1].log(&x, &[]) - libm::log(law(&x, &[]));
        assert!(error.abs() < most, "{x:?}: {error}");
    }
}
