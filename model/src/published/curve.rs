//! The fitted predictor of a scenario.

use foreglow_learner::{Cancelled, Grid, Hierarchy, Work};
use foreglow_shared::sort_by;
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::published::row::{AveragedRun, rates_below_one};
use crate::published::scenario::Shape;
use crate::published::single::Single;
use crate::published::{Choice, Place, Scenario};
use crate::{Feature, FitError, Setting};

/// Configurations required by scenarios on whole jobs: two features and an intercept.
const CONFIGURATIONS: usize = 3;
/// Sampling rates required by scenarios on samples: two points define a line.
const RATES: usize = 2;

/// The fitted predictor of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Curve {
    Single(Single),
    /// The features of level 1, and the hierarchy.
    Levels(Vec<Feature>, Hierarchy),
}

/// Why a fit ended without a result.
#[derive(Debug)]
pub(crate) enum Halt {
    Fit(FitError),
    Cancelled,
}

impl From<FitError> for Halt {
    fn from(error: FitError) -> Self {
        Self::Fit(error)
    }
}

impl From<Cancelled> for Halt {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Curve {
    /// Fits the training rows of a scenario.
    ///
    /// # Errors
    /// [`Halt`]: there are too few rows, none differ in one feature only, or the work was
    /// cancelled.
    pub(crate) fn fit(
        scenario: Scenario,
        rows: &[AveragedRun],
        grid: Grid,
        work: &mut Work<'_>,
    ) -> Result<(Self, Vec<Choice>), Halt> {
        if scenario.learns_whole_jobs() && rows.len() < CONFIGURATIONS {
            return Err(FitError::TooFewConfigurations(rows.len()).into());
        }
        if !scenario.learns_whole_jobs() && rates_below_one(rows) < RATES {
            return Err(FitError::TooFewRates(rates_below_one(rows)).into());
        }
        Self::refit(scenario, rows, grid, work)
    }

    /// Fits the rows left after holding some out, without the minimum number of configurations or
    /// rates.
    pub(crate) fn refit(
        scenario: Scenario,
        rows: &[AveragedRun],
        grid: Grid,
        work: &mut Work<'_>,
    ) -> Result<(Self, Vec<Choice>), Halt> {
        if rows.len() < 2 {
            return Err(FitError::TooFewConfigurations(rows.len()).into());
        }
        match scenario.shape() {
            Shape::Single(columns) => {
                let (single, selection) = Single::fit(columns, rows, grid, work)?;
                Ok((Self::Single(single), vec![Choice::new(Place::Single, selection)]))
            }
            Shape::Levels(features, level2) => {
                if features.contains(&Feature::SamplingRate) && !varies_alone(rows, Feature::SamplingRate) {
                    return Err(FitError::NoSharedConfiguration.into());
                }
                if !features.iter().any(|feature| varies_alone(rows, *feature)) {
                    return Err(FitError::NoFeatureAlone.into());
                }
                let (table, times): (Vec<Vec<f64>>, Vec<f64>) =
                    rows.iter().map(|row| (transform(features, row.setting), row.secs)).unzip();
                let (hierarchy, chosen) = Hierarchy::fit(&table, &times, level2, grid, work)?;
                let level1 = features.iter().zip(chosen.level1);
                let mut choices: Vec<Choice> = level1
                    .filter_map(|(feature, chosen)| Some(Choice::new(Place::Level1(*feature), chosen?)))
                    .collect();
                choices.push(Choice::new(Place::Level2, chosen.level2));
                Ok((Self::Levels(features.to_vec(), hierarchy), choices))
            }
        }
    }

    /// Returns the time at a row's features, seconds; `None` if it is not finite and above 0.
    pub(crate) fn at(&self, row: &AveragedRun) -> Option<f64> {
        let secs = match self {
            Self::Single(single) => Some(single.secs(row)),
            Self::Levels(features, hierarchy) => hierarchy.at(&transform(features, row.setting)),
        };
        secs.filter(|secs| secs.is_finite() && *secs > 0.0)
    }

    /// Returns the time of a row on a machine with `capacity`, seconds. An oversubscribed row gets
    /// the time of the fastest fitted configuration within the capacity that has no more executors
    /// and cores, if there is one.
    pub(super) fn at_within(&self, capacity: Capacity, fitted: &[AveragedRun], row: &AveragedRun) -> Option<f64> {
        if !capacity.is_exceeded_by(row.setting) {
            return self.at(row);
        }
        let is_smaller = |setting: Setting| {
            !capacity.is_exceeded_by(setting)
                && setting.executors <= row.setting.executors
                && setting.split().mean_cores() <= row.setting.split().mean_cores()
        };
        let at = |other: &AveragedRun| {
            let setting = Setting::at(other.setting.split(), row.setting.sampling_rate);
            self.at(&AveragedRun { setting, ..*row })
        };
        let fastest = fitted.iter().filter(|other| is_smaller(other.setting)).filter_map(at).min_by(f64::total_cmp);
        fastest.or_else(|| self.at(row))
    }
}

fn transform(features: &[Feature], setting: Setting) -> Vec<f64> {
    features.iter().map(|feature| feature.transform(setting)).collect()
}

/// Whether two rows differ in this feature and in no other.
fn varies_alone(rows: &[AveragedRun], feature: Feature) -> bool {
    let others = |row: &AveragedRun| {
        Feature::ALL.map(|other| if other == feature { 0 } else { other.value(row.setting).to_bits() })
    };
    let mut keys: Vec<_> = rows.iter().map(others).collect();
    sort_by(&mut keys, Ord::cmp);
    keys.windows(2).any(|pair| pair[0] == pair[1])
}
