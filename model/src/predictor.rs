//! The predictor: from runs of one context to the time at any setting.

use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::curve::Curve;
use crate::interval::{HeldOut, hold_out, interval, spread};
use crate::range::Range;
use crate::row::{Row, average, rates_below_one};
use crate::{Choice, Feature, FitError, Prediction, Scenario, Setting, Spread, Warning};

/// A fitted predictor. It holds a few numbers and no runs, so that it travels as JSON.
///
/// ```
/// # use foreglow_model::{Predictor, Scenario, Setting};
/// # use foreglow_shared::{Context, Observation};
/// # let context: Context = serde_json::from_str(r#"{"workload":{"model":"lenet5","mode":"inference","image_px":28,
/// # "images":1000,"epochs":1,"batch_size":8},"engine":"local","host":{}}"#).unwrap();
/// // Rows of a link: E, C, memory in MiB, P, SR, seconds, start-up seconds.
/// let observations: Vec<Observation> =
///     serde_json::from_str("[[1,1,1024,8,0.01,2.0,null],[1,1,1024,8,0.1,11.0,null],[2,1,1024,8,0.01,1.0,null]]").unwrap();
/// let predictor = Predictor::fit(&context, &observations).unwrap();
/// assert_eq!(predictor.scenario(), Scenario::FourTwo);
/// let whole = predictor.predict(Setting { executors: 1, cores_per_executor: 1, sampling_rate: 1.0 });
/// assert!((whole.completion_time_secs.unwrap() - 101.0).abs() < 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    scenario: Scenario,
    choices: Vec<Choice>,
    curve: Curve,
    range: Range,
    unknown_effects: Vec<Feature>,
    capacity: Option<Capacity>,
    held_out: Vec<HeldOut>,
    spread: Option<Spread>,
}

/// A scenario that is tuned and trained, without its interval.
pub(crate) struct Trained {
    scenario: Scenario,
    pub(crate) choices: Vec<Choice>,
    curve: Curve,
    /// The rows that it was trained on.
    pub(crate) rows: Vec<Row>,
    capacity: Option<Capacity>,
}

impl Predictor {
    /// Fits the completed runs of one context. The order of the runs changes nothing, and all times k times as long make
    /// predictions k times as long.
    ///
    /// With two sampling rates below 1 on one configuration it is scenario 4-2, which never trains on runs over all
    /// images, so that these can test it; otherwise, with three configurations at sampling rate 1, the baseline. On one
    /// machine, runs with more task threads than processors are left out wherever the others can be fitted without them.
    ///
    /// # Errors
    /// [`FitError`] says what is wrong or missing, and what to collect.
    pub fn fit(context: &Context, observations: &[Observation]) -> Result<Self, FitError> {
        let rows = average(observations)?;
        match (observations.len(), rows.as_slice()) {
            (0, _) => return Err(FitError::NoObservations),
            (1, _) => return Err(FitError::OneObservation),
            (runs, [row]) => return Err(FitError::AllEqual { runs, setting: row.setting }),
            _ => {}
        }
        let capacity = Capacity::of(context);
        let hierarchy = Trained::fit(Scenario::FourTwo, capacity, &rows);
        let trained = hierarchy.or_else(|error| {
            Trained::fit(Scenario::Baseline, capacity, &rows).map_err(|_| match error {
                FitError::NoSharedConfiguration => error,
                _ => FitError::TooFew {
                    rates_below_one: rates_below_one(&rows),
                    at_one: rows.iter().filter(|row| Scenario::Baseline.trains_at(row.setting.sampling_rate)).count(),
                },
            })
        })?;
        Ok(Self::of(trained))
    }

    /// Predicts the completion time of a setting.
    ///
    /// Never panics: where the fit gives no positive time, the time is `None` and a warning says so.
    pub fn predict(&self, setting: Setting) -> Prediction {
        if !setting.is_possible() {
            return Prediction::unknown(vec![Warning::Impossible]);
        }
        let mut warnings: Vec<Warning> = self.range.warnings(setting, self.scenario == Scenario::FourTwo).collect();
        warnings.extend(self.unknown_effects.iter().map(|feature| Warning::EffectUnknown { feature: *feature }));
        let mut fitting = setting;
        if let Some(capacity) = self.capacity.filter(|capacity| capacity.is_exceeded_by(setting)) {
            fitting = capacity.fastest_within(&self.curve, &self.range, setting).unwrap_or(setting);
            warnings.push(Warning::Oversubscribed { slots: setting.slots(), processors: capacity.processors });
        }
        match self.curve.secs(fitting) {
            Some(secs) => {
                let interval = interval(&self.held_out, fitting, secs);
                Prediction { completion_time_secs: Some(secs), interval, spread: self.spread.clone(), warnings }
            }
            None => {
                warnings.push(Warning::NotPositive);
                Prediction::unknown(warnings)
            }
        }
    }

    /// The scenario that was fitted.
    pub fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// What was chosen at each place: level 1 by feature, then level 2. A feature without an effect has no choice.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Adds to a trained scenario what its interval needs.
    pub(crate) fn of(trained: Trained) -> Self {
        let Trained { scenario, choices, curve, rows, capacity } = trained;
        let range = Range::of(&rows).expect("a scenario trains on two rows or more");
        let unknown_effects = curve.without_effect().into_iter().filter(|feature| range.varies(*feature)).collect();
        let held_out = hold_out(scenario, &rows);
        let spread = spread(&held_out);
        Self { scenario, choices, curve, range, unknown_effects, capacity, held_out, spread }
    }

    /// Measured and held-out predicted seconds of each training row.
    pub(crate) fn held_out_runs(&self) -> impl Iterator<Item = (f64, Option<f64>)> {
        self.held_out.iter().flat_map(|fold| &fold.runs).map(|run| (run.measured_secs, run.predicted_secs))
    }
}

impl Trained {
    /// Tunes and trains a scenario on those of the rows that it may see.
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
}
