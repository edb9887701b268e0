//! Scaled times: what the learners of level 1 learn.

use std::collections::BTreeMap;

use crate::learner::Table;

/// Rows that are equal in every feature but one, and their scaled times.
struct Group {
    /// That feature and the scaled time, one pair a row.
    pairs: Vec<(f64, f64)>,
}

/// Scaled times so far by value of the feature; the key is the value's bits.
type Effects = BTreeMap<u64, Vec<f64>>;

/// Rows of level 1 for one column: the feature, and the scaled time tᵢ / max(t₁, …, tₙ) in the group of rows that are
/// equal in every other feature (the paper, §3 and §4.3). On a full grid, which the paper measures, that is all.
///
/// Off a full grid the published scaling is biased, and two things are done about it. A group of one row is left out: its
/// scaled time is 1 whatever the feature is. A group that lacks the slowest value of the feature (1 executor, say) is
/// scaled by a maximum of its own, so that 2 executors would count as 1 there and as about one half elsewhere: it is
/// brought to the scale of the groups that have that value, by the mean of the values that it shares with them, and then
/// serves to bring in others. Groups that share none keep their own scale.
///
/// `rows` has one list of features a row, `times` a time above 0 for each.
pub(crate) fn scaled_times(rows: &[Vec<f64>], times: &[f64], column: usize) -> Table {
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

/// Groups of two rows or more in which the feature varies, by the other features.
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

/// The end of the feature's values at which times are longest: the largest where times rise with the feature within the
/// groups, the smallest where they fall.
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

    /// What brings the group to the scale of the others; `None` where it shares no value with them.
    fn factor(&self, effects: &Effects) -> Option<f64> {
        let mean = |scaled: &Vec<f64>| scaled.iter().sum::<f64>() / scaled.len() as f64;
        let shared = self.pairs.iter().filter_map(|(value, own)| Some((mean(effects.get(&value.to_bits())?), *own)));
        let (theirs, own) = shared.fold((0.0, 0.0), |sums, (theirs, own)| (sums.0 + theirs, sums.1 + own));
        (own > 0.0).then(|| theirs / own)
    }

    /// Σ(x − x̄)t: above 0 where times rise with the feature.
    fn rise(&self) -> f64 {
        let mean = self.pairs.iter().map(|(value, _)| value).sum::<f64>() / self.pairs.len() as f64;
        self.pairs.iter().map(|(value, scaled)| (value - mean) * scaled).sum()
    }
}
