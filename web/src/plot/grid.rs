//! Predictions over the whole configuration space, on a thinned grid.

use foreglow_model::Predictor;
use foreglow_shared::{PriceSheet, Resources};

use crate::data::job::Space;

/// Limit on the cells along each axis, for distinguishable cells.
const MOST_EXECUTORS: usize = 48;
const MOST_CORES: usize = 28;

/// Predicted times of the whole job over the configuration space.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Numbers of executors, ascending.
    pub executors: Vec<u32>,
    /// Numbers of cores, ascending.
    pub cores: Vec<u32>,
    /// Seconds, indexed by executors and then cores; `None` where the time is unknown.
    pub secs: Vec<Vec<Option<f64>>>,
}

/// One configuration of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Number of executors.
    pub executors: u32,
    /// Cores per executor.
    pub cores: u32,
    /// Predicted time, seconds.
    pub secs: f64,
}

/// Values that determine the hourly cost of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The price sheet.
    pub prices: PriceSheet,
    /// Memory of each executor, MiB.
    pub memory_per_executor_mib: u32,
    /// Whether each executor has an accelerator.
    pub accelerated: bool,
    /// Number of accelerators that all executors share; `None` if each holds its own.
    pub shared_accelerators: Option<u32>,
}

impl Grid {
    /// Predicts the configurations of a space, thinned to a drawable number.
    pub fn of(predictor: &Predictor, space: &Space) -> Self {
        let executors = thinned(&space.executors, MOST_EXECUTORS);
        let cores = thinned(&space.cores_per_executor, MOST_CORES);
        let secs = predictor.times(&executors, &cores);
        Self { executors, cores, secs }
    }

    /// Every configuration with a known time, sorted by executors and then cores.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        let row = |(executors, times): (&u32, &Vec<Option<f64>>)| {
            let executors = *executors;
            let cell =
                move |(cores, secs): (&u32, &Option<f64>)| Some(Cell { executors, cores: *cores, secs: (*secs)? });
            self.cores.iter().zip(times.clone().iter()).filter_map(cell).collect::<Vec<Cell>>()
        };
        self.executors.iter().zip(&self.secs).flat_map(row)
    }
}

impl Rates {
    /// Returns the cost of a run of `secs` seconds, if the prices cover the hardware.
    pub fn cost(&self, executors: u32, cores_per_executor: u32, secs: f64) -> Option<f64> {
        self.prices.cost(self.resources(executors, cores_per_executor), secs)
    }

    /// The resources of a configuration.
    pub fn resources(&self, executors: u32, cores_per_executor: u32) -> Resources {
        Resources {
            executors,
            cores_per_executor,
            total_cores: None,
            memory_per_executor_mib: self.memory_per_executor_mib,
            accelerated: self.accelerated,
            shared_accelerators: self.shared_accelerators,
        }
    }
}

/// Thins ascending counts to at most `most`, keeping both ends. The remaining ones are nearest to
/// equal ratios, because time is roughly inverse to the count.
pub fn thinned(counts: &[u32], most: usize) -> Vec<u32> {
    let (Some(first), Some(last)) = (counts.first(), counts.last()) else { return Vec::new() };
    if counts.len() <= most {
        return counts.to_vec();
    }
    let ratio = f64::from(*last) / f64::from((*first).max(1));
    let wanted = |place: usize| f64::from(*first) * libm::pow(ratio, place as f64 / (most - 1).max(1) as f64);
    let nearest = |wanted: f64| {
        let after = counts.partition_point(|count| f64::from(*count) < wanted).min(counts.len() - 1);
        let before = after.saturating_sub(1);
        if wanted - f64::from(counts[before]) < f64::from(counts[after]) - wanted {
            counts[before]
        } else {
            counts[after]
        }
    };
    let mut chosen: Vec<u32> = (0..most).map(|place| nearest(wanted(place))).collect();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_counts_stay_and_many_are_thinned_to_equal_ratios_with_both_ends() {
        assert_eq!(thinned(&[1, 2, 3], 3), [1, 2, 3]);
        let many: Vec<u32> = (1..=512).collect();
        let chosen = thinned(&many, 10);
        assert_eq!((chosen.first(), chosen.last()), (Some(&1), Some(&512)));
        assert_eq!(chosen, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert!(thinned(&many, 48).windows(2).all(|pair| pair[0] < pair[1]));
        assert!(thinned(&[], 4).is_empty());
    }
}
