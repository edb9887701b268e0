//! Sorting of numbers, compiled once.

/// Sorts numbers in ascending order; NaN comes last if it is positive.
#[inline(never)]
pub fn sort_numbers(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_by_their_total_order() {
        let mut values = [1.0, f64::NAN, -0.0, f64::NEG_INFINITY, 0.0, f64::INFINITY];
        sort_numbers(&mut values);
        let bits = values.map(f64::to_bits);
        assert_eq!(bits, [f64::NEG_INFINITY, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN].map(f64::to_bits));
    }
}
