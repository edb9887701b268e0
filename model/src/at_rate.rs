//! Predictions of many configurations at one sampling rate, with a cache.

use foreglow_shared::CoreSplit;

use crate::capacity::Capacity;
use crate::runs::Items;
use crate::{Prediction, Predictor, Setting, Warning};

/// A configuration with its predicted time, seconds; `None` if no time is known.
type Fastest = Option<(CoreSplit, f64)>;

/// A predictor at one sampling rate, with a cache for oversubscribed configurations: they take at
/// least as long as the fastest one that fits the machine's processors, unless runs of their own
/// were faster.
pub(crate) struct AtRate<'a> {
    predictor: &'a Predictor,
    /// The predictor's features, with the partition size that is assumed.
    items: &'a Items,
    sampling_rate: f64,
    /// Predictions without a limit on processors, sorted by configuration.
    unlimited: Vec<(CoreSplit, Prediction)>,
    /// For each number of cores, capped at the measured range: the fastest fitting configuration of
    /// the first competing number of executors, of the first two, and so on.
    fastest: Vec<(u32, Vec<Fastest>)>,
}

impl<'a> AtRate<'a> {
    pub(crate) fn new(predictor: &'a Predictor, items: &'a Items, sampling_rate: f64) -> Self {
        Self { predictor, items, sampling_rate, unlimited: Vec::new(), fastest: Vec::new() }
    }

    /// Predicts a configuration, like [`Predictor::predict`].
    pub(crate) fn predict(&mut self, split: CoreSplit) -> Prediction {
        let setting = self.setting(split);
        if !setting.is_possible() {
            return Prediction::unknown(vec![Warning::Impossible]);
        }
        let Some(capacity) = self.predictor.capacity else { return self.predictor.unlimited_with(self.items, setting) };
        if !capacity.is_exceeded_by(setting) {
            return self.unlimited(split).clone();
        }
        let fitting = self.fitting(split).unwrap_or(split);
        let mut prediction = self.unlimited(fitting).clone();
        if let Some(slowdown) = self.predictor.measured_ratios.slowdown(setting, capacity) {
            slowdown.apply(&mut prediction);
        }
        if let Ok(asked) = self.items.questions(&[setting]) {
            self.predictor.bound(&asked, &mut prediction);
        }
        prediction.warnings.push(capacity.warning(setting));
        prediction
    }

    /// Returns the configuration that is predicted in place of an oversubscribed one: the fastest
    /// in the measured range that fits the processors and has at most as many executors and cores.
    /// For each number of executors, only the fewest cores and the most that fit are compared.
    /// Training uses only the largest number of executors. `None` if the runs do not show the
    /// effect of one of its counts: its time is then unknown.
    pub(crate) fn fitting(&mut self, split: CoreSplit) -> Option<CoreSplit> {
        let setting = self.setting(split);
        let range = self.predictor.range;
        let has_fitting = |capacity: &Capacity| capacity.is_exceeded_by(setting) && range.shows_both(split);
        let capacity = self.predictor.capacity.filter(has_fitting)?;
        let cores = range.cores.1.min(split.cores_per_executor);
        let competing = capacity.numbers_of_executors(&range, split.executors);
        let last = competing.len().checked_sub(1)?;
        if capacity.averages {
            return self.fastest_of(competing.end - 1, cores).map(|(fastest, _)| fastest);
        }
        let place = self.fastest.binary_search_by_key(&cores, |(cores, _)| *cores).unwrap_or_else(|place| {
            self.fastest.insert(place, (cores, Vec::new()));
            place
        });
        for executors in competing.skip(self.fastest[place].1.len()) {
            let own = self.fastest_of(executors, cores);
            let fastest = &mut self.fastest[place].1;
            fastest.push(quicker(fastest.last().copied().flatten(), own));
        }
        self.fastest[place].1[last].map(|(fastest, _)| fastest)
    }

    /// Returns the fastest fitting configuration with this number of executors.
    fn fastest_of(&mut self, executors: u32, cores: u32) -> Fastest {
        let capacity = self.predictor.capacity?;
        capacity.cores(&self.predictor.range, executors, cores).fold(None, |fastest, cores| {
            let split = CoreSplit::even(executors, cores);
            let secs = self.unlimited(split).completion_time_secs;
            quicker(fastest, secs.map(|secs| (split, secs)))
        })
    }

    fn unlimited(&mut self, split: CoreSplit) -> &Prediction {
        let place = match self.unlimited.binary_search_by_key(&split, |(known, _)| *known) {
            Ok(place) => place,
            Err(place) => {
                let prediction = self.predictor.unlimited_with(self.items, self.setting(split));
                self.unlimited.insert(place, (split, prediction));
                place
            }
        };
        &self.unlimited[place].1
    }

    fn setting(&self, split: CoreSplit) -> Setting {
        Setting::at(split, self.sampling_rate)
    }
}

/// Returns the faster one, and the first of equals.
fn quicker(first: Fastest, second: Fastest) -> Fastest {
    match (first, second) {
        (Some(first), Some(second)) if first.1.total_cmp(&second.1).is_le() => Some(first),
        (first, None) => first,
        (_, second) => second,
    }
}
