//! Errors of repeated runs, if there are too few settings to hold one out.
//!
//! With three settings or more, errors are estimated from held-out settings. With one or two, only
//! the error of a measured setting can be estimated, by comparing each run with the median of the
//! other runs of the setting.

use crate::Spread;
use crate::ensemble::canonical::Group;
use crate::ensemble::distance::Distances;
use crate::ensemble::errors::{Errors, HeldOut, HeldOutFold, Situation};
use crate::ensemble::parameters::Parameters;
use crate::ensemble::shape::Shape;
use foreglow_numeric::median;

/// Number of settings from which on settings are held out instead.
const ENOUGH_SETTINGS: usize = 3;

/// Returns the errors of a run of a measured setting; `None` if settings can be held out, or if no
/// setting has two runs, unless there is only one run.
pub(super) fn errors(groups: &[Group]) -> Option<Errors> {
    if groups.len() >= ENOUGH_SETTINGS {
        return None;
    }
    let repeated = groups.iter().filter(|group| group.stopped == 0 && group.secs.len() > 1);
    let folds: Vec<HeldOutFold> = repeated.map(|group| fold(&group.secs)).collect();
    // The setting was measured, so no effect of a feature has to be estimated.
    let situation = Situation {
        shape: &Shape::Inside,
        parameters: Parameters::KNOWN,
        between: Parameters::KNOWN,
        has_forward: true,
        features_per_row: 0.0,
        deviation: 0.0,
        is_lawful: false,
        has_more_workers: false,
        has_laws_alone: false,
        between_runs: (groups.len() == 1 && folds.is_empty()).then_some(Spread::BETWEEN_RUNS),
    };
    Errors::of(&situation, &folds)
}

/// Compares each run with the median of the others.
fn fold(secs: &[f64]) -> HeldOutFold {
    let logs: Vec<f64> = secs.iter().map(|secs| libm::log(*secs)).collect();
    let others = |run: usize| -> Vec<f64> {
        logs.iter().enumerate().filter(|(other, _)| *other != run).map(|(_, log)| *log).collect()
    };
    let row = |run: usize| HeldOut {
        error: logs[run] - median(others(run)),
        beyond_median: 0.0,
        distances: Distances::default(),
        context: 0,
        is_disturbed: false,
    };
    let fitted = (logs.len() - 1) as f64 / logs.len() as f64;
    HeldOutFold { rows: (0..logs.len()).map(row).collect(), fitted }
}
