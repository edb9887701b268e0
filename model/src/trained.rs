//! A published scenario that is tuned and trained.

use crate::capacity::Capacity;
use crate::curve::Curve;
use crate::interval::hold_out;
use crate::range::Range;
use crate::row::Row;
use crate::{Choice, FitError, Scenario, Setting};

pub(crate) struct Trained {
    scenario: Scenario,
    pub(crate) choices: Vec<Choice>,
    curve: Curve,
    /// The rows that it was trained on.
    pub(crate) rows: Vec<Row>,
    capacity: Option<Capacity>,
}

impl Trained {
    /// Tunes and trains a scenario on those of the rows that it may see. On one machine, runs with more task threads than
    /// processors are left out wherever the others can be fitted without them.
    pub(crate) fn fit(scenario: Scenario, capacity: Option<Capacity>, rows: &[Row]) -> Result<Self, FitError> {
        let seen: Vec<Row> = rows.iter().filter(|row| scenario.trains_at(row.setting.sampling_rate)).copied().collect();
        let within = capacity.map(|capacity| capacity.rows_within(&seen)).filter(|within| within.len() < seen.len());
        let with = |rows: Vec<Row>| {
            let (curve, choices) = Curve::fit(scenario, &rows)?;
            Ok(Self { scenario, choices, curve, rows, capacity })
        };
        match within.map(with) {
            Some(Ok(trained)) => Ok(trained),
            _ => with(seen),
        }
    }

    /// The time at a setting, seconds; `None` where the fit gives no positive time.
    pub(crate) fn secs(&self, setting: Setting) -> Option<f64> {
        let capacity = self.capacity.filter(|capacity| capacity.is_exceeded_by(setting));
        let fitting = match (capacity, Range::of(self.rows.iter().map(|row| row.setting))) {
            (Some(capacity), Some(range)) => {
                capacity.fastest_within(&range, setting, |fitting| self.curve.secs(fitting))
            }
            _ => None,
        };
        self.curve.secs(fitting.unwrap_or(setting))
    }

    /// Measured seconds of each row, and those predicted by a fit that was tuned and trained without it.
    pub(crate) fn held_out(&self) -> Vec<(f64, Option<f64>)> {
        hold_out(self.scenario, &self.rows)
    }
}
