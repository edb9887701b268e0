//! Runs that contradict each other, so that no prediction agrees with both: repeats that differ by
//! far more than the noise, and more work in less time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use foreglow_shared::sort_by;

use crate::ensemble::canonical::Group;
use crate::ensemble::caution::describe;
use crate::ensemble::schema::Schema;
use crate::{Meaning, Warning};
use foreglow_numeric::{median, outliers};

/// Threshold in standard deviations, as for an outlier. The standard deviation of repeats is
/// compared with that of the noise, and the difference of two times with that of the difference of
/// two runs, √2 times the noise; for two repeats both are the same.
const FAR: f64 = 3.5;
/// Ratio of two times up to which they never contradict each other.
pub(crate) const LEAST_CONTRADICTION: f64 = 1.5;
/// Number of contradictions that are named, those with the largest ratios.
const MOST_NAMED: usize = 5;

/// Two runs that contradict each other. The state stores this instead of the [`Warning`], because a
/// format without field names cannot read the tag of a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Contradiction {
    at: String,
    secs: f64,
    /// The slower run: the same setting, or one with less work.
    slower_at: String,
    slower_secs: f64,
    /// Runs of the setting.
    runs: usize,
    is_of_repeats: bool,
}

impl Contradiction {
    fn ratio(&self) -> f64 {
        self.slower_secs / self.secs
    }

    /// Returns whether one of the runs has these features.
    pub(super) fn names(&self, at: &str) -> bool {
        self.at == at || self.slower_at == at
    }
}

impl From<Contradiction> for Warning {
    fn from(Contradiction { at, secs, slower_at, slower_secs, runs, is_of_repeats }: Contradiction) -> Self {
        if is_of_repeats {
            Self::RepeatsContradict { at, runs, fastest_secs: secs, slowest_secs: slower_secs }
        } else {
            Self::WorkContradicts { at, secs, less_work_at: slower_at, less_work_secs: slower_secs }
        }
    }
}

/// Finds the contradictions of a table whose noise in ln t has this standard deviation.
pub(super) fn contradictions(
    schema: &Schema,
    groups: &[Group],
    meanings: &[Option<Meaning>],
    noise: f64,
) -> Vec<Contradiction> {
    let noise = noise.max(noise_of_repeats(groups));
    let mut found = of_repeats(schema, groups, noise);
    found.extend(of_work(schema, groups, meanings, noise));
    found.retain(|found| found.ratio() > LEAST_CONTRADICTION);
    sort_by(&mut found, |a, b| b.ratio().total_cmp(&a.ratio()));
    found.truncate(MOST_NAMED);
    found
}

fn logs(group: &Group) -> Vec<f64> {
    group.secs.iter().map(|secs| libm::log(*secs)).collect()
}

/// Standard deviation of a sample; `None` of a single run.
fn deviation(logs: &[f64]) -> Option<f64> {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
    (logs.len() > 1).then(|| (squares / (logs.len() - 1) as f64).sqrt())
}

/// The median over the settings of the standard deviation of their repeats; 0 if fewer than three
/// settings have repeats, because a contradiction would then raise its own threshold.
fn noise_of_repeats(groups: &[Group]) -> f64 {
    let deviations: Vec<f64> = groups.iter().filter_map(|group| deviation(&logs(group))).collect();
    if deviations.len() < 3 { 0.0 } else { median(&deviations) }
}

/// Settings whose repeats spread by far more than the noise although none is an outlier among them.
fn of_repeats(schema: &Schema, groups: &[Group], noise: f64) -> Vec<Contradiction> {
    let contradiction = |group: &Group| {
        let logs = logs(group);
        let (secs, slower_secs) = (*group.secs.first()?, *group.secs.last()?);
        let at = describe(schema, &group.numeric, &group.category);
        let differs = deviation(&logs)? > FAR * noise && outliers(&logs).is_empty();
        let runs = group.secs.len();
        differs.then(|| Contradiction { slower_at: at.clone(), at, secs, slower_secs, runs, is_of_repeats: true })
    };
    groups.iter().filter_map(contradiction).collect()
}

/// A setting without its amount of work.
type RestOfSetting<'a> = (Vec<u64>, &'a [u32]);

/// Pairs of settings that differ only in the amount of work, where the one with more work took less
/// time than the slowest one with less work.
fn of_work(schema: &Schema, groups: &[Group], meanings: &[Option<Meaning>], noise: f64) -> Vec<Contradiction> {
    let is_work = |column: &usize| meanings[*column] == Some(Meaning::Work);
    let work: Vec<usize> = (0..meanings.len()).filter(is_work).collect();
    let [work] = work[..] else { return Vec::new() };
    let mut others: BTreeMap<RestOfSetting<'_>, Vec<(&Group, f64)>> = BTreeMap::new();
    for group in groups {
        let Some(log) = group.log_median() else { continue };
        let numbers = group.numeric.iter().enumerate().filter(|(column, _)| *column != work);
        let key = (numbers.map(|(_, x)| x.to_bits()).collect(), group.category.as_slice());
        others.entry(key).or_default().push((group, log));
    }
    let mut found = Vec::new();
    for mut of_setting in others.into_values() {
        sort_by(&mut of_setting, |(a, _), (b, _)| a.numeric[work].total_cmp(&b.numeric[work]));
        let mut slowest = of_setting[0];
        for (group, log) in of_setting {
            if slowest.1 - log > FAR * std::f64::consts::SQRT_2 * noise {
                let at = |group: &Group| describe(schema, &group.numeric, &group.category);
                found.push(Contradiction {
                    at: at(group),
                    secs: libm::exp(log),
                    slower_at: at(slowest.0),
                    slower_secs: libm::exp(slowest.1),
                    runs: group.secs.len(),
                    is_of_repeats: false,
                });
            }
            if log > slowest.1 {
                slowest = (group, log);
            }
        }
    }
    found
}
