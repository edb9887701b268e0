//! Slow runs among the fitted ones.

use crate::chance::Chance;

/// Range of the factors by which a slow run takes longer.
const FACTORS: (f64, f64) = (1.3, 3.0);

/// The fitted runs that are slowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slowed {
    /// No run.
    None,
    /// A percentage of the single runs, at least one.
    Runs(u32),
    /// A percentage of the settings with all their repeats, at least one.
    Settings(u32),
    /// Two of the settings with the most data.
    Largest,
}

impl Slowed {
    /// Suffix of a protocol's name; empty for `None`.
    pub fn suffix(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Runs(percent) => format!(", {percent} % of the runs slowed"),
            Self::Settings(percent) => format!(", {percent} % of the settings slowed"),
            Self::Largest => ", two of the largest runs slowed".into(),
        }
    }

    /// Number in the seeds of the draws.
    pub fn seed(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Runs(percent) => u64::from(percent),
            Self::Settings(percent) => 1_000 + u64::from(percent),
            Self::Largest => 2_000,
        }
    }
}

/// Multiplies some of the times by factors between 1.3 and 3. Runs of the same `group` are slowed
/// together; `size` is the amount of data of each run.
pub fn slow(slowed: Slowed, secs: &mut [f64], group: &[usize], size: &[f64], chance: &mut Chance) {
    let rows = secs.len();
    let share = |of: usize, percent: u32| ((of as f64 * f64::from(percent) / 100.0).round() as usize).max(1).min(of);
    let factor = |chance: &mut Chance| chance.between(FACTORS.0, FACTORS.1);
    let mut groups: Vec<usize> = group.to_vec();
    groups.sort_unstable();
    groups.dedup();
    let chosen: Vec<usize> = match slowed {
        Slowed::None => return,
        Slowed::Runs(percent) => {
            for row in chance.places(rows, share(rows, percent)) {
                secs[row] *= factor(chance);
            }
            return;
        }
        Slowed::Settings(percent) => {
            chance.places(groups.len(), share(groups.len(), percent)).into_iter().map(|place| groups[place]).collect()
        }
        Slowed::Largest => {
            let largest = size.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            groups.retain(|group_| (0..rows).any(|row| group[row] == *group_ && size[row] == largest));
            chance.places(groups.len(), 2).into_iter().map(|place| groups[place]).collect()
        }
    };
    for chosen in chosen {
        let factor = factor(chance);
        (0..rows).filter(|row| group[*row] == chosen).for_each(|row| secs[row] *= factor);
    }
}
