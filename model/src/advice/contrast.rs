//! The linear model of ln t whose prior deviations the belief uses.
//!
//! ln t is the sum of a level, a linear and a quadratic term in ln E, ln C and ln SR, and their
//! interactions.

use crate::Setting;

/// Number of coefficients of a setting's ln t.
pub(super) const EFFECTS: usize = 10;
/// Prior standard deviations. The level is unknown to orders of magnitude; the power of a resource
/// is between about −1 and 1; a quadratic term changes it by some tenths over a decade.
pub(super) const PRIOR: [f64; EFFECTS] = [10.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.03, 0.1, 0.03, 0.03];

/// Coefficient weights of a setting's ln t.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contrast([f64; EFFECTS]);

impl Contrast {
    pub(super) fn of(setting: Setting) -> Self {
        let e = libm::log(f64::from(setting.executors));
        let c = libm::log(setting.split().mean_cores());
        let s = libm::log(setting.sampling_rate);
        Self([1.0, e, c, s, e * e, c * c, s * s, e * c, e * s, c * s])
    }

    /// Returns the contrast with these deviations of the coefficients as units.
    pub(super) fn scaled(&self, deviations: &[f64; EFFECTS], factor: f64) -> [f64; EFFECTS] {
        std::array::from_fn(|effect| self.0[effect] * deviations[effect] * factor)
    }
}
