//! Jobs without samples, predicted from public measurements of the runs of others.
//!
//! [`UnmeasuredJob`] is the job as a user describes it, in the page or on the command line, and
//! [`PublicData`] predicts it. Each machine type with known GPUs is an arm. Its times follow from
//! the joint fit of the public speeds, `foreglow-public`, and from numbers of the user's own if
//! there are any.

mod basis;
mod data;
mod known;
mod question;
mod unmeasured;

pub use self::basis::{Comparison, PublicBasis, SpeedOrder};
pub use self::data::{PublicData, PublicJob, UnmeasuredError};
pub use self::known::OwnSpeed;
pub use self::question::{PublicAnswer, PublicQuestion, Refusal};
pub(crate) use self::question::{PublicArm, PublicTimes};
pub use self::unmeasured::{NetworkFromFile, NetworkSource, UnmeasuredJob};
