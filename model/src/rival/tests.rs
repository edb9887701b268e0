//! Optimality of the non-negative fit for any input.

use proptest::prelude::*;

use crate::rival::nnls::nnls;

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

#[test]
fn a_non_negative_fit_of_nothing_is_nothing() {
    assert!(nnls(&[], &[]).is_empty());
    assert_eq!(nnls(&[vec![0.0, 1.0]], &[2.0]), [0.0, 2.0]);
    assert_eq!(nnls(&[vec![1.0]], &[-2.0]), [0.0]);
}
