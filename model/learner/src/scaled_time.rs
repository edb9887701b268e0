//! Scaled times, the targets of level 1.

use std::collections::BTreeMap;

use crate::Table;

/// Rows that agree in every feature but one, with their scaled times.
struct Group {
    /// That feature and the scaled time of each row.
    pairs: Vec<(f64, f64)>,
}

/// Scaled times by value of the feature; the key is the bit pattern of the value.
type Effects = BTreeMap<u64, Vec<f64>>;

/// Returns the level-1 rows of a column: the feature and the scaled time tᵢ / max(t₁, …, tₙ) within
/// the group of rows that agree in every other feature (the paper, §3 and §4.3). On a full grid, as
/// in the paper, no correction is needed.
///
/// On other grids the published scaling is biased, which two changes correct. Groups of one row are
/// left out, because their scaled time is always 1. A group without the slowest value of the
/// feature (such as 1 executor) would be scaled by its own maximum: its time with 2 executors would
/// be 1, and about one half in the other groups. Such a group is rescaled to the mean of the values
/// that it shares with groups already on the common scale, and then helps to rescale others. Groups
/// that share no value keep their own scale.
///
/// `rows` holds each row's features, `times` a time above 0 per row.
pub fn scaled_times(rows: &[Vec<f64>], times: &[f64], column: usize) -> Table {
    let mut groups = groups(rows, times, column);
    let slowest = slowest(&groups);
    let mut effects = Effects::new();
    let mut waiting = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if group.pairs.iter().any(|(value, _)| Some(*value) == slowest) {
            group.enter(&mut effects);
        } else {
            waiting.push(index);
        }
    }
    loop {
        let wave: Vec<(usize, f64)> =
            waiting.iter().filter_map(|index| Some((*index, groups[*index].factor(&effects)?))).collect();
        if wave.is_empty() {
            break;
        }
        for (index, factor) in wave {
            groups[index].pairs.iter_mut().for_each(|(_, scaled)| *scaled *= factor);
            groups[index].enter(&mut effects);
            waiting.retain(|other| *other != index);
        }
    }
    let (features, target) = groups.iter().flat_map(|group| &group.pairs).map(|(x, t)| (vec![*x], *t)).unzip();
    Table { features, target }
}

/// Groups rows by the other features; keeps groups in which the feature varies.
fn groups(rows: &[Vec<f64>], times: &[f64], column: usize) -> Vec<Group> {
    let mut groups: BTreeMap<Vec<u64>, Vec<(f64, f64)>> = BTreeMap::new();
    for (row, time) in rows.iter().zip(times) {
        let others = row.iter().enumerate().filter(|(index, _)| *index != column);
        groups.entry(others.map(|(_, value)| value.to_bits()).collect()).or_default().push((row[column], *time));
    }
    let scale = |pairs: &Vec<(f64, f64)>| {
        let longest = pairs.iter().map(|(_, time)| *time).fold(0.0, f64::max);
        Group { pairs: pairs.iter().map(|(value, time)| (*value, time / longest)).collect() }
    };
    groups.values().filter(|pairs| pairs.iter().any(|(value, _)| *value != pairs[0].0)).map(scale).collect()
}

/// Returns the value of the feature with the longest times: the largest if times increase with the
/// feature within the groups, else the smallest.
fn slowest(groups: &[Group]) -> Option<f64> {
    let rise: f64 = groups.iter().map(Group::rise).sum();
    let values = groups.iter().flat_map(|group| &group.pairs).map(|(value, _)| *value);
    if rise >= 0.0 { values.reduce(f64::max) } else { values.reduce(f64::min) }
}

impl Group {
    fn enter(&self, effects: &mut Effects) {
        for (value, scaled) in &self.pairs {
            effects.entry(value.to_bits()).or_default().push(*scaled);
        }
    }

    /// Returns the factor to the common scale; `None` if the group shares no value with it.
    fn factor(&self, effects: &Effects) -> Option<f64> {
        let mean = |scaled: &Vec<f64>| scaled.iter().sum::<f64>() / scaled.len() as f64;
        let shared = self.pairs.iter().filter_map(|(value, own)| Some((mean(effects.get(&value.to_bits())?), *own)));
        let (theirs, own) = shared.fold((0.0, 0.0), |sums, (theirs, own)| (sums.0 + theirs, sums.1 + own));
        (own > 0.0).then(|| theirs / own)
    }

    /// Returns Σ(x − x̄)t, which is above 0 if times increase with the feature.
    fn rise(&self) -> f64 {
        let mean = self.pairs.iter().map(|(value, _)| value).sum::<f64>() / self.pairs.len() as f64;
        self.pairs.iter().map(|(value, scaled)| (value - mean) * scaled).sum()
    }
}
