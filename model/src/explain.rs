//! Explanations of a predictor's answers: parts, weights, held-out runs, and times of a whole grid.

use foreglow_shared::{Context, CoreSplit};

use crate::capacity::Capacity;
use crate::{Explanation, Feature, Predictor, Setting};
use foreglow_predictor::ensemble::HeldOutRow;

/// A setting that was held out, with its measured and predicted time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// The setting.
    pub setting: Setting,
    /// Median of the measured completion times, seconds.
    pub measured_secs: f64,
    /// Prediction of a fit without these runs, seconds.
    pub predicted_secs: f64,
}

impl Predictor {
    /// Explains how [`Predictor::predict`] computes its answer; `None` if there is no prediction.
    /// The second part is the setting that is predicted instead if the machine has too few
    /// processors for the requested one.
    ///
    /// ```
    /// # use foreglow_model::{Predictor, Setting};
    /// # use foreglow_shared::{Context, Observation};
    /// # let context: Context = serde_json::from_str(r#"{"workload":{"model":"lenet5",
    /// # "mode":"inference","image_px":28,"images":1000,"epochs":1,"batch_size":8},
    /// # "engine":"local","host":{}}"#).unwrap();
    /// # let observations: Vec<Observation> = serde_json::from_str(
    /// # "[[1,1,1024,8,0.01,2.0,null],[1,1,1024,8,0.1,11.0,null],
    /// # [2,1,1024,8,0.01,1.0,null],[2,1,1024,8,0.1,5.5,null]]",
    /// # ).unwrap();
    /// let predictor = Predictor::fit(&context, &observations).unwrap();
    /// let whole = Setting::even(2, 1, 1.0);
    /// let (explanation, instead) = predictor.explain(whole).unwrap();
    /// assert_eq!(explanation.fitted, 4);
    /// assert_eq!(explanation.beyond, ["sampling rate"]);
    /// let weights: f64 = explanation.parts.iter().map(|part| part.weight).sum();
    /// assert!((weights - 1.0).abs() < 1e-12);
    /// // The prediction is the weighted geometric mean of the parts.
    /// let log: f64 = explanation.parts.iter().map(|part| part.weight * part.secs.ln()).sum();
    /// let predicted = predictor.predict(whole).completion_time_secs.unwrap();
    /// assert!((log.exp() / predicted - 1.0).abs() < 1e-9);
    /// assert_eq!(instead, None);
    /// ```
    pub fn explain(&self, setting: Setting) -> Option<(Explanation, Option<Setting>)> {
        let fitting = self.at_rate(setting.sampling_rate).fitting(setting.split());
        let instead = fitting.map(|split| Setting::at(split, setting.sampling_rate));
        let asked = instead.unwrap_or(setting);
        asked.is_possible().then_some(())?;
        let questions = self.items.questions(&[asked]).ok()?;
        Some((self.ensemble.explain(&questions).ok()??, instead))
    }

    /// Returns every setting that was held out to estimate the error within the measured range.
    pub fn held_out(&self) -> Vec<HeldOut> {
        let row = |row: HeldOutRow| {
            Some(HeldOut {
                setting: self.items.setting(&row.numeric)?,
                measured_secs: row.measured_secs,
                predicted_secs: row.predicted_secs,
            })
        };
        self.ensemble.held_out().into_iter().filter_map(row).collect()
    }

    /// Returns the completion times of the whole job, seconds: one row per number of executors, one
    /// column per number of cores. Both lists must be ascending and at least 1; unknown times are
    /// `None`.
    ///
    /// The times equal [`Predictor::predict`] up to rounding, and are computed much faster if the
    /// predictor can evaluate a whole grid at once.
    pub fn times(&self, executors: &[u32], cores: &[u32]) -> Vec<Vec<Option<f64>>> {
        let mut whole_job = self.at_rate(1.0);
        let mut times = vec![vec![None; cores.len()]; executors.len()];
        let surface = self.surface(executors, cores);
        for region in surface.iter().flat_map(|surface| &surface.regions) {
            let mut logs = vec![0.0; region.columns.len()];
            let mut scratch = logs.clone();
            for (index, row) in region.rows.clone().enumerate() {
                region.logs(index, &mut logs, &mut scratch);
                let span = region.spans[index].clone();
                let times = &mut times[row][region.columns.clone()][span.clone()];
                for (time, log) in times.iter_mut().zip(&logs[span]) {
                    *time = Some(libm::exp(*log)).filter(|secs| secs.is_finite() && *secs > 0.0);
                }
            }
        }
        for (executors, times) in executors.iter().zip(&mut times) {
            let known = if surface.is_some() { self.predicted_alone(*executors, cores) } else { 0 };
            let rest = times[known..].iter_mut().zip(&cores[known..]);
            rest.for_each(|(time, cores)| {
                *time = whole_job.predict(CoreSplit::even(*executors, *cores)).completion_time_secs
            });
        }
        times
    }
}

/// Returns the number of processors that all executors of a job share; `None` if every executor has
/// its own machine or the number is unknown.
pub fn shared_processors(context: &Context) -> Option<u32> {
    Capacity::of(context).and_then(|capacity| capacity.processors)
}

/// Factors of a completion time relative to the smallest configuration, one per resource: t(E, C) =
/// t(1, 1) · t(E, 1)/t(1, 1) · t(E, C)/t(E, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// Completion time on one executor with one core, seconds.
    pub smallest_secs: f64,
    /// The factors, in the order of the product.
    pub factors: [(Feature, f64); 2],
}

impl Predictor {
    /// Returns the factors of the predicted time of a setting of equal executors; `None` if one of
    /// the times is unknown.
    pub fn factors(&self, setting: Setting) -> Option<Factors> {
        let Setting { executors, cores_per_executor, sampling_rate, .. } = setting;
        let secs = |executors: u32, cores_per_executor: u32| {
            self.predict(Setting::even(executors, cores_per_executor, sampling_rate)).completion_time_secs
        };
        let (smallest_secs, wide, asked) = (secs(1, 1)?, secs(executors, 1)?, secs(executors, cores_per_executor)?);
        let factors = [(Feature::InverseExecutors, wide / smallest_secs), (Feature::InverseCores, asked / wide)];
        Some(Factors { smallest_secs, factors })
    }
}
