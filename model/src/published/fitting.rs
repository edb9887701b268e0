//! What the scenarios make of a machine that is too small. Their learners know nothing of its limits: they would promise time
//! that is not there, and runs beyond the limits would bend what they learn within them.

use crate::Setting;
use crate::capacity::Capacity;
use crate::published::Curve;
use crate::published::row::Row;

/// The rows that the machine holds.
pub(super) fn held_by(capacity: Capacity, rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| capacity.holds(row.setting)).copied().collect()
}

/// The time of a row; of one that the machine does not hold, that of the fastest fitted configuration with no more executors
/// and no more cores that it holds, where there is one.
pub(super) fn secs(capacity: Option<Capacity>, curve: &Curve, fitted: &[Row], row: &Row) -> Option<f64> {
    let Some(capacity) = capacity.filter(|capacity| capacity.is_exceeded_by(row.setting)) else { return curve.at(row) };
    let smaller = |setting: Setting| {
        capacity.holds(setting)
            && setting.executors <= row.setting.executors
            && setting.cores_per_executor <= row.setting.cores_per_executor
    };
    let at = |other: &Row| {
        let Setting { executors, cores_per_executor, .. } = other.setting;
        curve.at(&Row { setting: Setting { executors, cores_per_executor, ..row.setting }, ..*row })
    };
    let fastest = fitted.iter().filter(|other| smaller(other.setting)).filter_map(at).min_by(f64::total_cmp);
    fastest.or_else(|| curve.at(row))
}
