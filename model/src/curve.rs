//! What a scenario fits: the time at any setting, before the machine's capacity and the interval come in.

use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::hierarchy::Hierarchy;
use crate::row::{Row, rates_below_one};
use crate::{Choice, FitError, Scenario, Setting};

/// Rows that the baseline needs: two features and an intercept.
const BASELINE_ROWS: usize = 3;
/// Sampling rates that scenario 4-2 needs: a line goes through two points.
const HIERARCHY_RATES: usize = 2;

/// The fitted predictor of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Curve {
    Baseline(Baseline),
    Hierarchy(Hierarchy),
}

impl Curve {
    /// Fits the rows that the scenario trains on.
    ///
    /// # Errors
    /// There are too few, or none that share a configuration.
    pub(crate) fn fit(scenario: Scenario, rows: &[Row]) -> Result<(Self, Vec<Choice>), FitError> {
        match scenario {
            Scenario::Baseline if rows.len() < BASELINE_ROWS => Err(FitError::TooFewConfigurations(rows.len())),
            Scenario::FourTwo if rates_below_one(rows) < HIERARCHY_RATES => {
                Err(FitError::TooFewRates(rates_below_one(rows)))
            }
            _ => Self::refit(scenario, rows),
        }
    }

    /// Fits what is left when rows are held out, which may be one row fewer than a scenario asks for.
    pub(crate) fn refit(scenario: Scenario, rows: &[Row]) -> Result<(Self, Vec<Choice>), FitError> {
        match scenario {
            Scenario::Baseline if rows.len() < 2 => Err(FitError::TooFewConfigurations(rows.len())),
            Scenario::Baseline => {
                let (baseline, choice) = Baseline::fit(rows);
                Ok((Self::Baseline(baseline), vec![choice]))
            }
            Scenario::FourTwo => {
                let (hierarchy, choices) = Hierarchy::fit(rows)?;
                Ok((Self::Hierarchy(hierarchy), choices))
            }
        }
    }

    /// The time at a setting, seconds; `None` where the fit gives no positive time.
    pub(crate) fn secs(&self, setting: Setting) -> Option<f64> {
        let secs = match self {
            Self::Baseline(baseline) => Some(baseline.secs(setting)),
            Self::Hierarchy(hierarchy) => hierarchy.secs(setting),
        };
        secs.filter(|secs| secs.is_finite() && *secs > 0.0)
    }
}
