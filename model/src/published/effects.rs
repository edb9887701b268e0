//! Level-1 curves of a scenario, with the measured points that they were fitted to.

use std::ops::ControlFlow;

use foreglow_learner::{Grid, Hierarchy, Work, scaled_times};
use foreglow_shared::{Context, Observation};
use serde::{Deserialize, Serialize};

use crate::capacity::Capacity;
use crate::published::row::{AveragedRun, average};
use crate::published::{Curve, Halt};
use crate::{Feature, FitError, Scenario, Setting};

/// The effect of each feature on the time, as learned by scenario 4-2, and its level 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Effects of the features that vary alone in the runs.
    pub effects: Vec<Effect>,
    hierarchy: Hierarchy,
    features: Vec<Feature>,
}

/// The effect of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The feature.
    pub feature: Feature,
    /// Measured points: the untransformed feature (E, C or SR) and the scaled time.
    pub points: Vec<(f64, f64)>,
}

impl Effects {
    /// Fits scenario 4-2 with Lasso and Ridge on the runs with SR < 1.
    ///
    /// # Errors
    /// [`FitError`]: there are too few runs, or none that differ in one feature only.
    pub fn fit(context: &Context, observations: &[Observation]) -> Result<Self, FitError> {
        let scenario = Scenario::FourTwo;
        let mut rows = average(observations)?;
        rows.retain(|row| scenario.trains_at(row.setting.sampling_rate));
        if let Some(capacity) = Capacity::of(context) {
            let held: Vec<AveragedRun> =
                rows.iter().filter(|row| !capacity.is_exceeded_by(row.setting)).copied().collect();
            if Self::of(scenario, &held).is_ok() {
                rows = held;
            }
        }
        Self::of(scenario, &rows)
    }

    fn of(scenario: Scenario, rows: &[AveragedRun]) -> Result<Self, FitError> {
        let watch = &mut |_, _| ControlFlow::Continue(());
        let work = &mut Work::new(1, watch);
        let curve = match Curve::fit(scenario, rows, Grid::Linear, work) {
            Ok((curve, _)) => curve,
            Err(Halt::Fit(error)) => return Err(error),
            Err(Halt::Cancelled) => return Err(FitError::NoFeatureAlone),
        };
        let Curve::Levels(features, hierarchy) = curve else { return Err(FitError::NoFeatureAlone) };
        let seen = |setting: Setting| features.iter().map(|feature| feature.transform(setting)).collect();
        let (table, times): (Vec<Vec<f64>>, Vec<f64>) = rows.iter().map(|row| (seen(row.setting), row.secs)).unzip();
        let effect = |(column, feature): (usize, &Feature)| {
            let scaled = scaled_times(&table, &times, column);
            let value = |x: f64| if *feature == Feature::SamplingRate { x } else { (1.0 / x).round() };
            let points: Vec<(f64, f64)> =
                scaled.features.iter().zip(&scaled.target).map(|(x, y)| (value(x[0]), *y)).collect();
            (!points.is_empty()).then_some(Effect { feature: *feature, points })
        };
        let effects = features.iter().enumerate().filter_map(effect).collect();
        Ok(Self { effects, hierarchy, features })
    }

    /// Returns level 1's scaled time at a value of the feature (E, C or SR); `None` if the feature
    /// has no effect.
    pub fn at(&self, feature: Feature, value: f64) -> Option<f64> {
        let column = self.features.iter().position(|other| *other == feature)?;
        let x = if feature == Feature::SamplingRate { value } else { 1.0 / value };
        self.hierarchy.effect(column, x)
    }

    /// Returns level 2's time, seconds; `None` if it is not above 0.
    pub fn secs(&self, setting: Setting) -> Option<f64> {
        let seen: Vec<f64> = self.features.iter().map(|feature| feature.transform(setting)).collect();
        self.hierarchy.at(&seen).filter(|secs| secs.is_finite() && *secs > 0.0)
    }
}
