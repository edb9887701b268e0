//! Jobs without samples, predicted from public measurements of the runs of others.
//!
//! [`UnmeasuredJob`] is the job as a user describes it, in the page or on the command line, and
//! [`PublicData`] predicts it. Each machine type with known GPUs is an arm. Its times follow from
//! the joint fit of the public speeds, `foreglow-public`, and from numbers of the user's own if
//! there are any. Beside the own runs of a job, [`PublicData::beside`] predicts the machine types
//! without runs; the runs are then numbers of the user's own.

mod basis;
mod data;
mod gpu_memory;
mod known;
mod own_runs;
mod peak;
mod question;
mod unmeasured;

pub use self::basis::{Comparison, PublicBasis, SpeedOrder};
pub use self::data::{MeasuredJob, PublicData, PublicJob, UnmeasuredError};
pub use self::known::OwnSpeed;
pub use self::peak::OwnPeak;
pub use self::question::{PublicAnswer, PublicQuestion, Refusal};
pub(crate) use self::question::{PublicArm, PublicTimes};
pub use self::unmeasured::{NetworkFromFile, NetworkSource, UnmeasuredJob};
