//! Noise of single runs, from repeats.
//!
//! A row is the median of its runs and varies less than one of them. A prediction is about one run,
//! so the errors on held-out rows lack the difference.

use crate::ensemble::canonical::Group;
use foreglow_numeric::{MEDIAN_OF_NORMAL, median};

/// Returns for each row how much larger the variance of ln t of one of its runs is than that of
/// their median; 0 for a row of one run.
pub(super) fn beyond_medians(groups: &[Group]) -> Vec<f64> {
    let logs: Vec<Vec<f64>> = groups.iter().map(logs).collect();
    let deviations: Vec<f64> = logs.iter().flat_map(|logs| deviations(logs)).collect();
    if deviations.is_empty() {
        return vec![0.0; groups.len()];
    }
    let noise = median(deviations) / MEDIAN_OF_NORMAL;
    logs.iter().map(|logs| noise * noise * (1.0 - variance_of_median(logs.len().max(1)))).collect()
}

/// Returns the logarithms of the completed runs. Equal times may be copies of one run, and count
/// once.
fn logs(group: &Group) -> Vec<f64> {
    let mut secs = group.secs.clone();
    secs.dedup();
    secs.into_iter().map(libm::log).collect()
}

/// Returns the absolute deviation of each run from the median of the others, scaled to the standard
/// deviation of one run. A run that was slowed by accident does not change the median of many.
fn deviations(logs: &[f64]) -> Vec<f64> {
    if logs.len() < 2 {
        return Vec::new();
    }
    let scale = (1.0 + variance_of_median(logs.len() - 1)).sqrt();
    let deviation = |run: usize| {
        let others = logs.iter().enumerate().filter(|(other, _)| *other != run).map(|(_, log)| *log);
        (logs[run] - median(others.collect::<Vec<f64>>())).abs() / scale
    };
    (0..logs.len()).map(deviation).collect()
}

/// Returns the approximate variance of the median of normal variables, in units of the variance of
/// one: exact for one and in the limit π/2n of many, at most 0.05 too large between them, and 0.61
/// instead of 0.5 for two.
fn variance_of_median(count: usize) -> f64 {
    let half = std::f64::consts::FRAC_PI_2;
    half / (count as f64 - 1.0 + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(secs: &[f64]) -> Group {
        Group {
            numeric: Vec::new(),
            category: Vec::new(),
            secs: secs.to_vec(),
            stopped: 0,
            weight: 1.0,
            bound_secs: 0.0,
            rows: Vec::new(),
        }
    }

    #[test]
    fn rows_of_one_run_and_copies_of_a_run_lack_nothing() {
        assert_eq!(beyond_medians(&[group(&[2.0]), group(&[3.0])]), [0.0, 0.0]);
        assert_eq!(beyond_medians(&[group(&[2.0, 2.0, 2.0]), group(&[])]), [0.0, 0.0]);
        let [one, copies, two] = beyond_medians(&[group(&[2.0]), group(&[2.0; 5]), group(&[1.0, 1.2])])[..] else {
            panic!("one value a row")
        };
        assert_eq!((one, copies), (0.0, 0.0));
        let noise = libm::log(1.2) / (1.0 + variance_of_median(1)).sqrt() / MEDIAN_OF_NORMAL;
        assert!((two - noise * noise * (1.0 - variance_of_median(2))).abs() < 1e-15);
    }

    #[test]
    fn one_slow_run_among_many_hardly_counts() {
        let secs = [0.96, 0.97, 0.98, 0.99, 1.01, 1.02, 1.03, 1.04];
        let [clean] = beyond_medians(&[group(&secs)])[..] else { panic!("one row") };
        let [slowed] = beyond_medians(&[group(&[&secs[..7], &[3.0]].concat())])[..] else { panic!("one row") };
        assert!(clean > 0.0 && (slowed / clean - 1.0).abs() < 0.3, "{slowed} {clean}");
    }

    #[test]
    fn the_median_of_many_runs_varies_least() {
        assert_eq!(variance_of_median(1), 1.0);
        let simulated = [(3, 0.449), (5, 0.287), (9, 0.166), (15, 0.102)];
        assert!(simulated.iter().all(|(count, variance)| (variance_of_median(*count) - variance).abs() < 0.01));
    }
}
