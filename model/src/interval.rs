//! Each row predicted without it.

use crate::Scenario;
use crate::curve::Curve;
use crate::row::Row;

/// Folds at most: up to so many rows each is held out alone, beyond that in folds.
const MAX_FOLDS: usize = 64;

/// Measured seconds of each row, and those predicted by the scenario, hyper-parameters and all, fitted without it (or
/// without its fold); `None` where the other rows cannot be fitted, or say nothing of it.
pub(crate) fn hold_out(scenario: Scenario, rows: &[Row]) -> Vec<(f64, Option<f64>)> {
    let folds = rows.len().min(MAX_FOLDS);
    let refit = |fold: usize| {
        let (out, kept): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(|(index, _)| index % folds == fold);
        let kept: Vec<Row> = kept.into_iter().map(|(_, row)| *row).collect();
        let curve = Curve::refit(scenario, &kept).ok().map(|(curve, _)| curve);
        let predict = |(_, row): (usize, &Row)| (row.secs, curve.as_ref().and_then(|curve| curve.secs(row.setting)));
        out.into_iter().map(predict).collect::<Vec<_>>()
    };
    (0..folds).flat_map(refit).collect()
}
