//! Predictions of many configurations of one arm.

use foreglow_shared::CoreSplit;

use super::JointPredictor;
use crate::at_rate::AtRate;
use crate::capacity::Capacity;
use crate::{Prediction, Setting};

/// Predicts the whole job on the configurations of an arm, with a cache.
pub(crate) struct ArmPredictor<'a> {
    joint: &'a JointPredictor,
    arm: usize,
    /// The arm's own predictor, limited by one machine; `None` if the job rents as many machines as
    /// it needs.
    on_one_machine: Option<AtRate<'a>>,
}

impl<'a> ArmPredictor<'a> {
    pub(super) fn new(joint: &'a JointPredictor, arm: usize, is_single_machine: bool) -> Self {
        let fitted = joint.fitted(arm);
        let own = fitted.own.as_ref().zip(fitted.items.as_ref()).filter(|_| is_single_machine);
        let on_one_machine = own.map(|(own, items)| own.at_rate_with(items, fitted.whole_job));
        Self { joint, arm, on_one_machine }
    }

    /// Predicts the whole job on a configuration.
    pub(crate) fn predict(&mut self, split: CoreSplit) -> Prediction {
        let Some(own) = &mut self.on_one_machine else { return self.joint.predict_split(self.arm, split) };
        let prediction = own.predict(split);
        let capacity = Capacity::of(&self.joint.fitted(self.arm).job.context);
        let is_exceeded = capacity.is_some_and(|capacity| capacity.is_exceeded_by(Setting::at(split, 1.0)));
        // The runs of other arms may show the effect of counts that the own runs never varied.
        match prediction.completion_time_secs {
            None if !is_exceeded => self.joint.predict_split(self.arm, split),
            _ => prediction,
        }
    }
}
