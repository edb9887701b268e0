//! The time of a whole job from the progress of its beginning.
//!
//! [`WholeJob::from_curve`] divides the curve of a run into start-up, warm-up, steady work and
//! periodic pauses, and extrapolates the last two:
//!
//! ```
//! use foreglow_curve::WholeJob;
//! use foreglow_shared::Curve;
//!
//! // 5 s of start-up, then 0.5 s a step, of which every tenth is slower.
//! let secs = |step: u32| 5.0 + 0.5 * f64::from(step) + 0.1 * f64::from(step / 10);
//! let points = (1..=100).map(|step| (secs(step), step.into())).collect();
//! let curve = Curve { unit: "steps".into(), of: Some(1000.0), per_epoch: None, points };
//! let job = WholeJob::from_curve(&curve, 1000.0)?;
//! assert!((job.secs - 515.0).abs() < 2.0 && job.lower_secs < 515.0 && job.upper_secs > 515.0);
//! # Ok::<(), foreglow_curve::CurveError>(())
//! ```

mod level;
mod parts;
mod pauses;
mod warm_up;
mod whole_job;

pub use crate::pauses::Pauses;
pub use crate::whole_job::{CurveError, INTERVAL_PROBABILITY, WholeJob};
