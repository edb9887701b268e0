//! The memory of a batch as a linear function of the images held at once, with lower and upper
//! limits.

/// Largest batch of a search.
const MOST: u64 = 1 << 30;
/// Relative difference between a measured peak and the bound that the same batch needs: the
/// allocator's blocks differ between runs, and a bound includes reserved memory that is never used.
const REPEATS: f64 = 0.04;

/// A number with the limits between which it is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Lower limit.
    pub lower: f64,
    /// Expected value.
    pub expected: f64,
    /// Upper limit.
    pub upper: f64,
}

impl Estimate {
    /// Returns a known number.
    pub const fn known(value: f64) -> Self {
        Self { lower: value, expected: value, upper: value }
    }

    /// Returns the number times a factor of 0 or more.
    pub fn times(self, factor: f64) -> Self {
        Self { lower: self.lower * factor, expected: self.expected * factor, upper: self.upper * factor }
    }

    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        Self {
            lower: self.lower + other.lower,
            expected: self.expected + other.expected,
            upper: self.upper + other.upper,
        }
    }
}

/// Images that an executor holds at once, by the size of its mini-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Every thread holds its own mini-batch.
    Batches { threads: u64 },
    /// The threads divide a mini-batch into shares of this size, or by default into eight
    /// shares of at least the smallest size.
    Shares { threads: u64, size: Option<u64> },
}

/// Default number of shares of a mini-batch, and the minimum number of images of a share.
const SHARES: u64 = 8;
const SMALLEST_SHARE: u64 = 8;

/// Returns the images of a share by default.
pub(super) fn usual_share(batch: u64) -> u64 {
    batch.div_ceil(SHARES).max(SMALLEST_SHARE).min(batch.max(1))
}

impl Held {
    fn images(self, batch: u64) -> f64 {
        match self {
            Self::Batches { threads } => threads as f64 * batch as f64,
            Self::Shares { threads, .. } => {
                let size = self.share(batch);
                threads.min(batch.div_ceil(size)) as f64 * size as f64
            }
        }
    }

    /// Returns the number of gradients held at the same time: one for each working thread, and
    /// another for each thread that adds up several shares.
    fn gradients(self, batch: u64) -> f64 {
        match self {
            Self::Batches { .. } => 0.0,
            Self::Shares { threads, .. } => {
                let shares = batch.div_ceil(self.share(batch).max(1));
                let busy = threads.min(shares);
                (if shares > busy { 2 * busy } else { busy }) as f64
            }
        }
    }

    fn share(self, batch: u64) -> u64 {
        match self {
            Self::Batches { .. } => batch,
            Self::Shares { size, .. } => size.map_or_else(|| usual_share(batch), |size| size.clamp(1, batch.max(1))),
        }
    }
}

/// A run of the network that was measured under a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryRun {
    /// It completed with this peak.
    Completed {
        /// Images per mini-batch.
        batch: u64,
        /// Largest memory of an executor, bytes.
        peak_bytes: f64,
    },
    /// It ran out of memory.
    OutOfMemory {
        /// Images per mini-batch.
        batch: u64,
        /// The executor's bound, bytes.
        bound_bytes: f64,
    },
}

/// The largest batch that fits a bound; 0 if not even one image fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestBatch {
    /// Fits even if the memory need is at its upper limit; rarely too optimistic.
    pub surely: u64,
    /// Fits if the memory need is as expected.
    pub expected: u64,
    /// No larger batch fits, even if the memory need is at its lower limit.
    pub at_most: u64,
}

/// Memory that an executor needs, by the size of its mini-batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMemory {
    pub(super) fixed_bytes: Estimate,
    /// Memory per image that is held by the network.
    pub(super) bytes_per_image: Estimate,
    /// Memory per copy of the gradients.
    pub(super) bytes_per_gradient: f64,
    /// Memory per image of the mini-batch that is read and decoded.
    pub(super) bytes_per_input: f64,
    pub(super) held: Held,
    /// Batches that ran out of memory, with their bounds.
    pub(super) refused: Vec<(u64, f64)>,
    /// Completed batches with their peaks.
    pub(super) completed: Vec<(u64, f64)>,
}

impl BatchMemory {
    /// Returns the memory of a mini-batch, bytes.
    pub fn bytes(&self, batch: u64) -> Estimate {
        let images = self.held.images(batch);
        let line =
            self.fixed_bytes.plus(self.bytes_per_image.times(images)).plus(Estimate::known(self.known_bytes(batch)));
        // A batch needs at least as much as a smaller measured one and at most as much as a larger
        // one.
        let peaks = |is_smaller: bool| {
            self.completed.iter().filter(move |(size, _)| if is_smaller { *size <= batch } else { *size >= batch })
        };
        let least = peaks(true).map(|(_, peak)| *peak / (1.0 + REPEATS)).fold(0.0, f64::max);
        let most = peaks(false).map(|(_, peak)| *peak * (1.0 + REPEATS)).fold(f64::INFINITY, f64::min).max(least);
        let within = |bytes: f64| bytes.min(most).max(least);
        Estimate { lower: within(line.lower), expected: within(line.expected), upper: within(line.upper) }
    }

    /// Returns the bytes of the gradients and of the images that are read.
    fn known_bytes(&self, batch: u64) -> f64 {
        self.bytes_per_gradient * self.held.gradients(batch) + self.bytes_per_input * batch as f64
    }

    /// Returns the largest batch that fits a bound.
    pub fn largest_batch(&self, bound_bytes: f64) -> LargestBatch {
        let refused = self.refused.iter().filter(|(_, bound)| *bound >= bound_bytes).map(|(batch, _)| *batch);
        let most = refused.min().map_or(MOST, |batch| batch.saturating_sub(1));
        let largest = |of: fn(&Estimate) -> f64| {
            let fits = |batch: u64| of(&self.bytes(batch)) <= bound_bytes;
            let (mut fitting, mut above) = (0, 1);
            while above <= most && fits(above) {
                (fitting, above) = (above, above * 2);
            }
            above = above.min(most + 1);
            while above - fitting > 1 {
                let middle = fitting + (above - fitting) / 2;
                if fits(middle) { fitting = middle } else { above = middle }
            }
            fitting
        };
        let surely = largest(|bytes| bytes.upper);
        let expected = largest(|bytes| bytes.expected).max(surely);
        LargestBatch { surely, expected, at_most: largest(|bytes| bytes.lower).max(expected) }
    }

    /// Returns the memory with the line moved through measured peaks of the network. The
    /// uncertainty of the constant part then limits that of the slope.
    pub fn measured(mut self, runs: &[MemoryRun]) -> Self {
        for run in runs {
            match *run {
                MemoryRun::Completed { batch, peak_bytes } => self.completed.push((batch, peak_bytes)),
                MemoryRun::OutOfMemory { batch, bound_bytes } => self.refused.push((batch, bound_bytes)),
            }
        }
        let points: Vec<(f64, f64)> = self
            .completed
            .iter()
            .map(|(batch, peak)| (self.held.images(*batch), peak - self.known_bytes(*batch)))
            .collect();
        let ends = (
            points.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)),
            points.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)),
        );
        let (Some(first), Some(last)) = ends else { return self };
        let (fixed, slope) = (self.fixed_bytes, self.bytes_per_image);
        if last.0 >= 2.0 * first.0 && last.1 > first.1 {
            // Two batches give the line; their noise gives its limits.
            let span = last.0 - first.0;
            let noise = REPEATS * (last.1 - first.1).max(0.02 * last.1);
            let rise = (last.1 - first.1) / span;
            let rises = Estimate { lower: (rise - noise / span).max(0.0), expected: rise, upper: rise + noise / span };
            self.through(last, rises);
        } else {
            let rise = |fixed: f64| ((last.1 - fixed) / last.0).max(0.0);
            let rises = Estimate {
                lower: rise(fixed.upper).clamp(slope.lower, slope.upper),
                expected: rise(fixed.expected).clamp(slope.lower, slope.upper),
                upper: rise(fixed.lower).clamp(slope.lower, slope.upper),
            };
            self.through(last, rises);
        }
        self
    }

    /// Moves the lines of both limits through a measured point. Beyond it the larger slope is the
    /// upper limit; before it, [`bytes`](Self::bytes) bounds the memory by the measured peak.
    fn through(&mut self, (images, bytes): (f64, f64), slope: Estimate) {
        let at = |slope: f64, noise: f64| (bytes * noise - slope * images).max(0.0);
        self.fixed_bytes = Estimate {
            lower: at(slope.lower, 1.0 - REPEATS),
            expected: at(slope.expected, 1.0),
            upper: at(slope.upper, 1.0 + REPEATS),
        };
        self.bytes_per_image = slope;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn memory(held: Held) -> BatchMemory {
        BatchMemory {
            fixed_bytes: Estimate { lower: 90.0 * MIB, expected: 100.0 * MIB, upper: 110.0 * MIB },
            bytes_per_image: Estimate { lower: 2.0 * MIB, expected: 3.0 * MIB, upper: 4.0 * MIB },
            bytes_per_gradient: 0.0,
            bytes_per_input: 0.0,
            held,
            refused: Vec::new(),
            completed: Vec::new(),
        }
    }

    fn largest(surely: u64, expected: u64, at_most: u64) -> LargestBatch {
        LargestBatch { surely, expected, at_most }
    }

    #[test]
    fn the_largest_batch_is_the_last_that_fits() {
        let memory = memory(Held::Batches { threads: 1 });
        assert_eq!(memory.largest_batch(400.0 * MIB), largest(72, 100, 155));
        assert!(memory.bytes(72).upper <= 400.0 * MIB && memory.bytes(73).upper > 400.0 * MIB);
        assert_eq!(memory.largest_batch(50.0 * MIB), largest(0, 0, 0));
        assert_eq!(memory.largest_batch(f64::INFINITY).surely, MOST);
    }

    #[test]
    fn threads_share_the_memory_and_shares_bound_it() {
        assert_eq!(memory(Held::Batches { threads: 2 }).largest_batch(400.0 * MIB).expected, 50);
        // Shares of at least 8 images: with 100 at once, 800 images.
        assert_eq!(memory(Held::Shares { threads: 1, size: None }).largest_batch(400.0 * MIB).expected, 800);
        let fixed = memory(Held::Shares { threads: 2, size: Some(4) });
        assert_eq!(fixed.bytes(4).expected, 112.0 * MIB);
        assert_eq!(fixed.bytes(1000).expected, 124.0 * MIB);
    }

    #[test]
    fn a_run_that_completed_narrows_the_answer_and_agrees_with_it() {
        let before = memory(Held::Batches { threads: 1 });
        let run = MemoryRun::Completed { batch: 50, peak_bytes: 280.0 * MIB };
        let after = before.clone().measured(&[run]);
        let (wide, narrow) = (before.largest_batch(400.0 * MIB), after.largest_batch(400.0 * MIB));
        assert!(narrow.at_most - narrow.surely < wide.at_most - wide.surely, "{wide:?} {narrow:?}");
        assert!(after.bytes(50).lower <= 280.0 * MIB && after.bytes(50).upper >= 280.0 * MIB);
        // The batch of a completed run fits its bound.
        assert!(after.largest_batch(295.0 * MIB).surely >= 50);
        assert!(after.largest_batch(265.0 * MIB).at_most < 50);
    }

    #[test]
    fn two_batches_give_the_line() {
        let runs = [(8, 148.0), (64, 484.0)].map(|(batch, mib)| MemoryRun::Completed { batch, peak_bytes: mib * MIB });
        let after = memory(Held::Batches { threads: 1 }).measured(&runs);
        // 100 MiB and 6 MiB an image, outside the limits of the prediction.
        assert!((after.bytes(128).expected / MIB - 868.0).abs() < 1.0);
        let answer = after.largest_batch(868.5 * MIB);
        assert_eq!(answer.expected, 128);
        assert!(answer.surely >= 118 && answer.at_most <= 138, "{answer:?}");
    }

    #[test]
    fn no_batch_fits_that_ran_out_of_memory_under_the_same_bound() {
        let run = MemoryRun::OutOfMemory { batch: 60, bound_bytes: 400.0 * MIB };
        let after = memory(Held::Batches { threads: 1 }).measured(&[run]);
        assert_eq!(after.largest_batch(400.0 * MIB), largest(59, 59, 59));
        assert_eq!(after.largest_batch(300.0 * MIB).at_most, 59);
        assert_eq!(after.largest_batch(401.0 * MIB).expected, 100);
    }
}
