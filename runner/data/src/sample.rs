//! The random sample of a run: a seed draws the same items on every engine and machine.

use std::sync::atomic::{AtomicU64, Ordering};

use super::set::{DataSet, Item, ItemError};
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};
use rayon::prelude::*;

/// Returns the number of items at this sampling rate, rounded and at least one.
pub fn images_in_sample(images: u64, sampling_rate: f64) -> u64 {
    ((images as f64 * sampling_rate).round() as u64).clamp(1, images.max(1))
}

/// Returns the share of the images that a run at the requested sampling rate processes, which is
/// the rate of its sample.
pub fn true_rate(images: u64, sampling_rate: f64) -> f64 {
    // The counts are below 2^53, where they are exact.
    images_in_sample(images, sampling_rate) as f64 / images.max(1) as f64
}

/// Draws the sample without replacement (Fisher and Yates, from the front). A smaller sample with
/// the same seed is a prefix of a larger one.
pub fn draw(images: u64, sampling_rate: f64, seed: u64) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let wanted = images_in_sample(images, sampling_rate).min(images) as usize;
    let mut indices: Vec<u64> = (0..images).collect();
    for place in 0..wanted {
        // Drawn as f64, because the numbers of `random_range` may change with the version of rand.
        let left = (indices.len() - place) as f64;
        let step = (random.random::<f64>() * left) as usize;
        indices.swap(place, (place + step).min(images as usize - 1));
    }
    indices.truncate(wanted);
    indices
}

/// The items of a run, numbered from 0 in processing order.
pub struct Sample {
    set: Box<dyn DataSet>,
    numbers: Vec<u64>,
}

#[expect(clippy::len_without_is_empty, reason = "a sample has at least one item")]
impl Sample {
    /// Creates a sample of these items of a set, in this order.
    pub fn new(set: Box<dyn DataSet>, numbers: Vec<u64>) -> Self {
        Self { set, numbers }
    }

    /// Removes and returns the last `count` items, for another sample.
    pub fn split_off(&mut self, count: u64) -> Vec<u64> {
        let left = self.numbers.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        self.numbers.split_off(left)
    }

    /// Returns the number of items.
    pub fn len(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Reads an item as stored.
    ///
    /// # Errors
    /// The item is not in the sample, cannot be read, or its checksum is wrong.
    pub fn read(&self, place: u64) -> Result<Item, ItemError> {
        let number = self.number(place).ok_or_else(|| super::set::missing(place, self.len()))?;
        self.set.read(number)
    }

    /// Advises the system that the item will be read soon.
    pub fn expect(&self, place: u64) {
        if let Some(number) = self.number(place) {
            self.set.expect(number);
        }
    }

    /// Reads every item once on all processors and drops it, so that the system's page cache holds
    /// the items. Items that cannot be read are left to the run, which reports them. Stops early
    /// when `goes_on`, which gets the bytes read so far, returns false.
    pub fn read_once(&self, goes_on: impl Fn(u64) -> bool + Sync) {
        let bytes = AtomicU64::new(0);
        let read = |number: &u64| {
            if let Ok(item) = self.set.read(*number) {
                bytes.fetch_add(item.bytes.len() as u64, Ordering::Relaxed);
            }
        };
        self.numbers.par_iter().filter(|_| goes_on(bytes.load(Ordering::Relaxed))).for_each(read);
    }

    /// Returns the location of the item for messages.
    pub fn name(&self, place: u64) -> String {
        self.number(place).map_or_else(|| format!("item {place} of the sample"), |number| self.set.name(number))
    }

    fn number(&self, place: u64) -> Option<u64> {
        self.numbers.get(usize::try_from(place).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::set::Layout;

    #[test]
    fn the_seed_determines_the_sample() {
        assert_eq!(draw(1000, 0.1, 7), draw(1000, 0.1, 7));
        assert_ne!(draw(1000, 0.1, 7), draw(1000, 0.1, 8));
    }

    #[test]
    fn a_full_sample_has_every_image_once() {
        let mut all = draw(500, 1.0, 3);
        assert_ne!(all, (0..500).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn the_sample_size_is_rounded_and_at_least_one() {
        assert_eq!(draw(200, 0.1, 0).len(), 20);
        assert_eq!(draw(200, 0.0001, 0).len(), 1);
        assert_eq!(images_in_sample(2000, 0.01), 20);
        assert_eq!(images_in_sample(3, 0.5), 2);
    }

    #[test]
    fn the_true_rate_is_the_asked_one_where_it_is_a_whole_number_of_images() {
        for (images, rate) in [(2000, 0.01), (400, 0.1), (3200, 0.05), (7, 1.0), (1000, 0.003), (60_000, 0.7)] {
            assert_eq!(true_rate(images, rate), rate, "{images}");
        }
        assert_eq!((true_rate(400, 1e-9), true_rate(3, 0.5)), (1.0 / 400.0, 2.0 / 3.0));
        assert_eq!(images_in_sample(400, true_rate(400, 0.0333)), images_in_sample(400, 0.0333));
    }

    #[test]
    fn a_small_sample_is_a_prefix_of_a_large_one() {
        assert_eq!(draw(300, 0.1, 9), draw(300, 0.5, 9)[..30]);
    }

    /// A set that counts how often each of its items is read; every third one cannot be read.
    struct Counting(Arc<Vec<AtomicU64>>);

    impl DataSet for Counting {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn name(&self, number: u64) -> String {
            number.to_string()
        }

        fn read(&self, number: u64) -> Result<Item, ItemError> {
            self.0[number as usize].fetch_add(1, Ordering::Relaxed);
            if number.is_multiple_of(3) {
                Err(ItemError("broken".into()))
            } else {
                Ok(Item { bytes: vec![0], layout: Layout::Text, label: None })
            }
        }

        fn expect(&self, _number: u64) {}

        fn files(&self, _numbers: &[u64]) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn every_item_of_the_sample_is_read_once_beforehand_and_no_other() {
        let counts = Arc::new((0..200).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let numbers = draw(200, 0.25, 7);
        let sample = Sample::new(Box::new(Counting(Arc::clone(&counts))), numbers.clone());
        sample.read_once(|_| false);
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 0), "an interrupt ends it");
        sample.read_once(|_| true);
        for (number, count) in (0..).zip(counts.iter()) {
            assert_eq!(count.load(Ordering::Relaxed), u64::from(numbers.contains(&number)), "{number}");
        }
    }

    #[test]
    fn reading_beforehand_stops_after_as_many_bytes_as_it_may_read() {
        let counts = Arc::new((0..200).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let sample = Sample::new(Box::new(Counting(Arc::clone(&counts))), (0..200).collect());
        sample.read_once(|bytes| bytes < 10);
        let read = counts.iter().filter(|count| count.load(Ordering::Relaxed) > 0).count();
        // Two thirds can be read, and each thread may have begun one more.
        assert!((10..200).contains(&read), "{read}");
    }

    #[test]
    fn a_sample_is_spread_over_the_data_set() {
        let mean = draw(10_000, 0.1, 1).iter().sum::<u64>() as f64 / 1000.0;
        assert!((mean - 5000.0).abs() < 300.0, "{mean}");
    }
}
