//! Scaled times: what the learners of level 1 learn.

use std::collections::BTreeMap;

use crate::learner::Table;
use crate::row::{Row, longest_secs};
use crate::{Feature, Setting};

/// Rows that are equal in every feature but one, that one transformed, and their scaled times.
struct Group {
    /// Transformed feature and scaled time, one pair a row.
    pairs: Vec<(f64, f64)>,
}

/// Scaled times so far by value of the feature; the key is the value's bits, which order as positive numbers do.
type Effects = BTreeMap<u64, Vec<f64>>;

/// Rows of level 1: the transformed feature, and the scaled time tᵢ / max(t₁, …, tₙ) in the group of rows that are equal
/// in every other feature (the paper, §3 and §4.3). On a full grid, which the paper measures, that is all.
///
/// Off a full grid the published scaling is biased, and two things are done about it. A group of one row is left out: its
/// scaled time is 1 whatever the feature is. A group that lacks the slowest value of the feature (1 executor, say) is
/// scaled by a maximum of its own, so that 2 executors would count as 1 there and as about one half elsewhere: it is
/// brought to the scale of the groups that have that value, by the mean of the values that it shares with them, and then
/// serves to bring in others. Groups that share none keep their own scale.
pub(crate) fn scaled_times(rows: &[Row], feature: Feature) -> Table {
    let mut groups = groups(rows, feature);
    let slowest = groups.iter().flat_map(|group| &group.pairs).map(|(value, _)| *value).fold(0.0, f64::max);
    let mut effects = Effects::new();
    let mut waiting = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if group.pairs.iter().any(|(value, _)| *value == slowest) {
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

/// Groups of two rows or more, by the other two features.
fn groups(rows: &[Row], feature: Feature) -> Vec<Group> {
    let mut groups: BTreeMap<[u64; 2], Vec<Row>> = BTreeMap::new();
    for row in rows {
        groups.entry(others(row.setting, feature)).or_default().push(*row);
    }
    let scale = |group: &Vec<Row>| {
        let longest_secs = longest_secs(group);
        let pair = |row: &Row| (feature.transform(row.setting), row.secs / longest_secs);
        Group { pairs: group.iter().map(pair).collect() }
    };
    groups.values().filter(|group| group.len() > 1).map(scale).collect()
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
}

/// The other two features, as numbers that order as they do.
fn others(setting: Setting, feature: Feature) -> [u64; 2] {
    let executors = u64::from(setting.executors);
    let cores = u64::from(setting.cores_per_executor);
    let rate = setting.sampling_rate.to_bits();
    match feature {
        Feature::InverseExecutors => [cores, rate],
        Feature::InverseCores => [executors, rate],
        Feature::SamplingRate => [executors, cores],
    }
}
