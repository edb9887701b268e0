//! Model of an executor's peak memory by cores and partition size.
//!
//! An executor holds the CNN once, and for each core a constant part and a part proportional to the
//! partition size: peak = a + b·C + d·C·P with a, b, d ≥ 0. A term is left out if its feature never
//! varied in the runs. The fit is scaled up until no run exceeds it. The measured peaks then bound
//! it: from below by those of runs with at most as many cores and images, from above by those of
//! runs with at least as many.

use foreglow_shared::PeakMemory;

use foreglow_numeric::nnls;

/// Returns the expected peak memory of an executor, MiB; `None` if no run recorded its peak.
pub(crate) fn expected_peak_mib(peaks: &[PeakMemory], cores_per_executor: u32, partition_size: u32) -> Option<f64> {
    let first = peaks.first()?;
    let varies = |of: fn(&PeakMemory) -> u32| peaks.iter().any(|peak| of(peak) != of(first));
    let (cores_vary, sizes_vary) = (varies(|peak| peak.cores_per_executor), varies(|peak| peak.partition_size));
    let row = |cores: u32, size: u32| {
        let (cores, size) = (f64::from(cores), f64::from(size));
        vec![1.0, if cores_vary { cores } else { 0.0 }, if sizes_vary { cores * size } else { 0.0 }]
    };
    let rows: Vec<Vec<f64>> = peaks.iter().map(|peak| row(peak.cores_per_executor, peak.partition_size)).collect();
    let measured: Vec<f64> = peaks.iter().map(|peak| f64::from(peak.peak_mib)).collect();
    let terms = nnls(&rows, &measured);
    let fitted = |row: &[f64]| row.iter().zip(&terms).map(|(value, term)| value * term).sum::<f64>();
    let raise = rows.iter().zip(&measured).map(|(row, measured)| measured / fitted(row)).fold(1.0, f64::max);

    let least = peaks
        .iter()
        .filter(|peak| peak.cores_per_executor <= cores_per_executor && peak.partition_size <= partition_size)
        .map(|peak| f64::from(peak.peak_mib))
        .fold(0.0, f64::max);
    let most = peaks
        .iter()
        .filter(|peak| peak.cores_per_executor >= cores_per_executor && peak.partition_size >= partition_size)
        .map(|peak| f64::from(peak.peak_mib))
        .fold(f64::INFINITY, f64::min);
    Some((raise * fitted(&row(cores_per_executor, partition_size))).min(most).max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peaks(runs: &[(u32, u32, u32)]) -> Vec<PeakMemory> {
        let peak = |&(cores_per_executor, partition_size, peak_mib)| PeakMemory {
            cores_per_executor,
            partition_size,
            peak_mib,
        };
        runs.iter().map(peak).collect()
    }

    fn expected(runs: &[(u32, u32, u32)], cores: u32, size: u32) -> f64 {
        expected_peak_mib(&peaks(runs), cores, size).unwrap()
    }

    #[test]
    fn a_bilinear_peak_is_found_and_extrapolated() {
        let made = |c: u32, p: u32| 200 + 50 * c + 3 * c * p;
        let runs = [(1, 8), (2, 8), (1, 32), (2, 32)].map(|(c, p)| (c, p, made(c, p)));
        for (c, p) in [(1, 8), (2, 16), (4, 8), (8, 128)] {
            assert!((expected(&runs, c, p) - f64::from(made(c, p))).abs() < 1.0, "{c} {p}: {}", expected(&runs, c, p));
        }
    }

    #[test]
    fn no_measured_peak_is_underestimated_and_measured_peaks_are_bounds() {
        let runs = [(1, 8, 300), (2, 8, 380), (3, 8, 390), (4, 8, 520)];
        for (c, p, peak) in runs {
            assert_eq!(expected(&runs, c, p), f64::from(peak));
        }
        // The least-squares line 230 + 67·C, scaled by 520 ÷ 498 to reach the last run.
        assert!((expected(&runs, 8, 8) - 766.0 * 520.0 / 498.0).abs() < 1e-6, "{}", expected(&runs, 8, 8));
    }

    #[test]
    fn features_that_never_varied_are_not_extrapolated() {
        assert_eq!(expected(&[(2, 8, 400)], 1, 8), 400.0);
        assert_eq!(expected(&[(2, 8, 400)], 64, 512), 400.0);
        assert_eq!(expected(&[(2, 8, 400), (2, 16, 500)], 2, 32), 700.0);
        assert_eq!(expected_peak_mib(&[], 1, 1), None);
    }
}
