//! Predicts a machine type with few runs from those that were fully measured.
//!
//! ln t on the new machine type is a regression on the times of K fully measured ones, the peers,
//! for the same job: M(x), the mean of their logarithms, a shift, a slope, and the deviation of
//! each peer from the mean. All coefficients but the shift are shrunk towards 0, so that one run
//! determines the shift alone. The shrinkage and the error are estimated by treating each peer in
//! turn as the new machine type, with as many runs at the settings nearest to those of the new one.
//!
//! One peer does not show how machine types differ. Then ln t on the new machine type is that on
//! the peer plus a shift, the mean ratio of its runs, and the error is Student's t of these ratios.
//!
//! PARIS (Yadwadkar et al., SoCC 2017) and Scout (Hsu et al., 2018) predict a job on all machine
//! types from its runs on few reference types in the same way; their reference types are chosen in
//! advance, and their regression is a forest.

use foreglow_numeric::{Cholesky, MEDIAN_OF_NORMAL, median, student_t};

use foreglow_shared::sort_by;

use crate::Spread;

/// Prior standard deviations to choose from, of the slope and of the peers' coefficients.
const SLOPES: [f64; 3] = [0.03, 0.1, 0.3];
const DEVIATIONS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
/// Prior standard deviation of the shift; large, because the shift is unknown.
const SHIFT: f64 = 10.0;
/// Least standard deviation of the noise between equal runs, in ln t.
const LEAST_NOISE: f64 = 0.02;
const DEGREES_OF_FREEDOM: f64 = 4.0;
/// Prior standard deviation of ln of the ratio of two machine types about its mean, and its degrees
/// of freedom. They were chosen on the pairs of PROFET's and of TrimTuner's machine types.
const RATIO: (f64, f64) = (0.2, 2.0);
/// Error of a slow run in units of the usual error: from here on the weight by Student's t with 2
/// degrees of freedom, 3 ÷ (2 + z²), is at most that of an outlier, a quarter.
pub(super) const SLOW: f64 = 3.162;
/// Probability at the upper end of the intervals.
const UPPER: f64 = 0.95;

/// A run or a question: ln of the seconds that each peer takes.
pub(super) type OnPeers = Vec<f64>;

/// A run with its measured ln t.
#[derive(Clone, Debug)]
pub(super) struct TransferRow {
    pub(super) on_peers: OnPeers,
    pub(super) log: f64,
}

/// A fitted regression on the peers.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    peers: Vec<usize>,
    /// Mean of M over all runs of the peers.
    centre: f64,
    /// Mean distance of each peer from M.
    offsets: Vec<f64>,
    coefficients: Vec<f64>,
    /// Half the width of the 90 % interval, in ln t.
    half_width: f64,
}

impl Transfer {
    /// Fits the runs of a new machine type; `rows` has those of each peer. `None` without a run or
    /// a peer.
    pub(super) fn fit(own: &[TransferRow], rows: &[Vec<TransferRow>]) -> Option<Self> {
        if rows.is_empty() || own.is_empty() {
            return None;
        }
        if rows.len() == 1 {
            return Some(Self::shifted(own));
        }
        let all: Vec<usize> = (0..rows.len()).collect();
        let noise = noise(rows);
        let mut best: Option<(f64, (f64, f64), Vec<f64>)> = None;
        for slope in SLOPES {
            for deviation in DEVIATIONS {
                let errors: Vec<Vec<f64>> =
                    all.iter().map(|held_out| errors_of(*held_out, own, rows, (slope, deviation), noise)).collect();
                let mean = errors.iter().map(|errors| mean_of(errors)).sum::<f64>() / errors.len() as f64;
                if best.as_ref().is_none_or(|(least, ..)| mean < *least) {
                    best = Some((mean, (slope, deviation), errors.concat()));
                }
            }
        }
        let (_, strengths, errors) = best?;
        let mut fitted = Self::weighed(own, rows, all, strengths, noise);
        // The new machine type differs from the peers as they differ from each other. Few peers
        // estimate this difference poorly.
        let few = 1.0 + 1.0 / rows.len() as f64;
        fitted.half_width = few * quantile(errors, 2.0 * UPPER - 1.0).max(noise);
        Some(fitted)
    }

    /// Shifts the times on the only peer by the mean ratio of the runs.
    fn shifted(own: &[TransferRow]) -> Self {
        let count = own.len() as f64;
        let ratios = || own.iter().map(|run| run.log - run.on_peers[0]);
        let shift = ratios().sum::<f64>() / count;
        let (prior, weight) = RATIO;
        let degrees = weight + count - 1.0;
        let squares: f64 = ratios().map(|ratio| (ratio - shift) * (ratio - shift)).sum();
        let variance = (weight * prior * prior + squares) / degrees * (1.0 + 1.0 / count);
        let half_width = student_t::exceeded_with(1.0 - UPPER, degrees) * variance.sqrt();
        Self { peers: vec![0], centre: 0.0, offsets: vec![0.0], coefficients: vec![shift, 0.0, 0.0], half_width }
    }

    fn weighed(
        own: &[TransferRow],
        rows: &[Vec<TransferRow>],
        peers: Vec<usize>,
        (slope, deviation): (f64, f64),
        noise: f64,
    ) -> Self {
        let reference: Vec<&TransferRow> = peers.iter().flat_map(|peer| &rows[*peer]).collect();
        let count = reference.len().max(1) as f64;
        let mean = |of: &dyn Fn(&TransferRow) -> f64| reference.iter().map(|row| of(row)).sum::<f64>() / count;
        let level = |row: &TransferRow| mean_on(&row.on_peers, &peers);
        let centre = mean(&|row| level(row));
        let offsets: Vec<f64> = peers.iter().map(|peer| mean(&|row| row.on_peers[*peer] - level(row))).collect();
        let mut fitted = Self { peers, centre, offsets, coefficients: Vec::new(), half_width: 0.0 };
        let deviations = [SHIFT, slope].into_iter().chain(fitted.peers.iter().map(|_| deviation));
        let size = 2 + fitted.peers.len();
        let mut normal = vec![vec![0.0; size]; size];
        let mut right = vec![0.0; size];
        for (place, prior) in deviations.enumerate() {
            normal[place][place] = 1.0 / (prior * prior);
        }
        for run in own {
            let features = fitted.features(&run.on_peers);
            let rest = run.log - mean_on(&run.on_peers, &fitted.peers);
            for i in 0..size {
                right[i] += features[i] * rest / (noise * noise);
                for j in 0..size {
                    normal[i][j] += features[i] * features[j] / (noise * noise);
                }
            }
        }
        fitted.coefficients = Cholesky::of_semidefinite(&normal).solve(&right);
        fitted
    }

    fn features(&self, on_peers: &OnPeers) -> Vec<f64> {
        let level = mean_on(on_peers, &self.peers);
        let distances = self.peers.iter().zip(&self.offsets).map(|(peer, offset)| on_peers[*peer] - level - offset);
        [1.0, level - self.centre].into_iter().chain(distances).collect()
    }

    /// Returns ln t of a question.
    pub(super) fn log(&self, on_peers: &OnPeers) -> f64 {
        let features = self.features(on_peers);
        let shift: f64 = features.iter().zip(&self.coefficients).map(|(feature, weight)| feature * weight).sum();
        mean_on(on_peers, &self.peers) + shift
    }

    /// Returns half the width of the 90 % interval in ln t.
    pub(super) fn half_width(&self) -> f64 {
        self.half_width
    }
}

/// Returns the runs of a new machine type that took much longer than its other runs suggest, with
/// the ln t that these suggest. The peers' times and the differences between machine types set the
/// threshold; one peer does not show it. Fewer than half of the runs count as slow, so one or two
/// runs never do.
pub(super) fn slow_runs(own: &[TransferRow], rows: &[Vec<TransferRow>]) -> Vec<(usize, f64)> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let all: Vec<usize> = (0..rows.len()).collect();
    let beyond = |runs: &[TransferRow], peers: &[usize]| -> Vec<f64> {
        let levels: Vec<f64> = runs.iter().map(|run| run.log - mean_on(&run.on_peers, peers)).collect();
        let middle = median(&levels);
        levels.iter().map(|level| level - middle).collect()
    };
    let variance = |held_out: &usize| {
        let others: Vec<usize> = all.iter().copied().filter(|peer| peer != held_out).collect();
        let deviation = median(beyond(&rows[*held_out], &others).into_iter().map(f64::abs)) / MEDIAN_OF_NORMAL;
        deviation * deviation
    };
    let usual = (all.iter().map(variance).sum::<f64>() / rows.len() as f64).sqrt().max(LEAST_NOISE);
    let mut slow: Vec<(usize, f64)> = beyond(own, &all).into_iter().enumerate().collect();
    slow.retain(|(_, beyond)| *beyond > SLOW * usual);
    sort_by(&mut slow, |a, b| b.1.total_cmp(&a.1));
    slow.truncate(own.len().saturating_sub(1) / 2);
    slow.into_iter().map(|(run, beyond)| (run, own[run].log - beyond)).collect()
}

/// Returns the spread whose 90 % interval has this half-width in ln t.
pub(super) fn spread_of(half_width: f64) -> Option<Spread> {
    let unit = Spread::student_t(1.0, DEGREES_OF_FREEDOM).ok()?;
    Spread::student_t(half_width / libm::log(unit.quantile(UPPER)), DEGREES_OF_FREEDOM).ok()
}

/// Returns half the width of a spread's 90 % interval in ln t.
pub(super) fn half_width_of(spread: &Spread) -> f64 {
    libm::log(spread.quantile(UPPER))
}

/// The absolute errors on a peer's runs if it is treated as the new machine type.
fn errors_of(
    held_out: usize,
    own: &[TransferRow],
    rows: &[Vec<TransferRow>],
    strengths: (f64, f64),
    noise: f64,
) -> Vec<f64> {
    let others: Vec<usize> = (0..rows.len()).filter(|peer| *peer != held_out).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for run in own {
        let distance = |place: &usize| -> f64 {
            let row = &rows[held_out][*place];
            others.iter().map(|peer| (row.on_peers[*peer] - run.on_peers[*peer]).abs()).sum()
        };
        let free = (0..rows[held_out].len()).filter(|place| !chosen.contains(place));
        chosen.extend(free.min_by(|a, b| distance(a).total_cmp(&distance(b))));
    }
    let given: Vec<TransferRow> = chosen.iter().map(|place| rows[held_out][*place].clone()).collect();
    let fitted = Transfer::weighed(&given, rows, others, strengths, noise);
    let tested = (0..rows[held_out].len()).filter(|place| !chosen.contains(place)).map(|place| &rows[held_out][place]);
    tested.map(|row| (fitted.log(&row.on_peers) - row.log).abs()).collect()
}

/// Standard deviation of the peers' runs about their own predictions.
fn noise(rows: &[Vec<TransferRow>]) -> f64 {
    let own = rows.iter().enumerate().flat_map(|(peer, rows)| rows.iter().map(move |row| row.log - row.on_peers[peer]));
    let (mut squares, mut count) = (0.0, 0.0);
    for error in own {
        squares += error * error;
        count += 1.0;
    }
    (squares / f64::max(count, 1.0)).sqrt().max(LEAST_NOISE)
}

fn mean_on(on_peers: &OnPeers, peers: &[usize]) -> f64 {
    peers.iter().map(|peer| on_peers[*peer]).sum::<f64>() / peers.len() as f64
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn quantile(mut values: Vec<f64>, probability: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let place = (probability * values.len() as f64) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln t of setting x on a machine type that is `shift` slower and scales with `slope`.
    fn on(shift: f64, slope: f64, x: f64) -> f64 {
        shift + slope * x
    }

    const PEERS: [(f64, f64); 3] = [(0.0, 1.0), (0.7, 1.1), (-0.4, 0.9)];

    fn on_peers(x: f64) -> OnPeers {
        PEERS.iter().map(|(shift, slope)| on(*shift, *slope, x)).collect()
    }

    fn rows() -> Vec<Vec<TransferRow>> {
        let row = |peer: &(f64, f64), x: f64| TransferRow { on_peers: on_peers(x), log: on(peer.0, peer.1, x) };
        PEERS.iter().map(|peer| (0..12).map(|x| row(peer, f64::from(x) / 4.0)).collect()).collect()
    }

    #[test]
    fn one_run_gives_the_shift_and_three_the_slope() {
        let run = |x: f64| TransferRow { on_peers: on_peers(x), log: on(1.0, 1.2, x) };
        let one = Transfer::fit(&[run(1.5)], &rows()).unwrap();
        assert!((one.log(&on_peers(1.5)) - on(1.0, 1.2, 1.5)).abs() < 0.01);
        let three = Transfer::fit(&[run(0.0), run(1.5), run(2.75)], &rows()).unwrap();
        let error = |fitted: &Transfer| (fitted.log(&on_peers(2.0)) - on(1.0, 1.2, 2.0)).abs();
        assert!(error(&three) < 0.02, "{}", error(&three));
        assert!(three.half_width() < one.half_width());
    }

    #[test]
    fn a_peer_is_needed_and_a_run() {
        let run = TransferRow { on_peers: on_peers(1.0), log: 0.0 };
        assert!(Transfer::fit(std::slice::from_ref(&run), &[]).is_none());
        assert!(Transfer::fit(&[], &rows()).is_none());
        assert!(Transfer::fit(&[run], &rows()).is_some());
    }

    #[test]
    fn one_peer_gives_the_times_up_to_the_ratio_of_the_runs() {
        let run = |x: f64, noise: f64| TransferRow { on_peers: vec![x], log: x + 0.7 + noise };
        let fit = |runs: &[TransferRow]| Transfer::fit(runs, &[rows()[0].clone()]).unwrap();
        let (one, three) = (fit(&[run(1.0, 0.0)]), fit(&[run(0.0, 0.01), run(1.0, 0.0), run(2.0, -0.01)]));
        assert!((three.log(&vec![4.0]) - 4.7).abs() < 1e-9);
        assert!(three.half_width() < one.half_width());
        let scattered = fit(&[run(0.0, 0.5), run(1.0, 0.0), run(2.0, -0.5)]);
        assert!(scattered.half_width() > 1.5 * three.half_width());
    }

    #[test]
    fn one_slow_run_of_three_is_found_and_none_of_two() {
        let run = |x: f64, slower: f64| TransferRow { on_peers: on_peers(x), log: on(1.0, 1.05, x) + slower };
        let three = [run(0.0, 0.0), run(1.5, 0.9), run(2.75, 0.0)];
        let slow = slow_runs(&three, &rows());
        assert!(slow.len() == 1 && slow[0].0 == 1 && (slow[0].1 - on(1.0, 1.05, 1.5)).abs() < 0.1, "{slow:?}");
        assert!(slow_runs(&three[..2], &rows()).is_empty());
        let clean = [run(0.0, 0.0), run(1.5, 0.0), run(2.75, 0.0)];
        assert!(slow_runs(&clean, &rows()).is_empty());
        let fast = [run(0.0, 0.0), run(1.5, -0.9), run(2.75, 0.0)];
        assert!(slow_runs(&fast, &rows()).is_empty(), "nothing makes a run faster");
    }

    #[test]
    fn a_spread_has_the_half_width_that_was_asked_for() {
        assert!((half_width_of(&spread_of(0.3).unwrap()) - 0.3).abs() < 1e-9);
    }
}
