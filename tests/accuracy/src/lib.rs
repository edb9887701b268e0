//! The test bed of the default predictor: every protocol, clean and with slow runs, for the default
//! predictor and the rivals.

mod bouts;
mod brackets;
mod calibration;
mod chance;
mod child;
mod contestant;
mod covered;
mod figures;
pub mod left_out;
mod options;
pub mod page;
mod protocol;
pub mod reference;
pub mod saved;
mod slowed;
mod summary;
mod table;
mod trial;

pub use crate::bouts::{answer, rows};
pub use crate::brackets::{BracketScore, bracket_scores};
pub use crate::calibration::Calibration;
pub use crate::chance::Chance;
pub use crate::covered::Covered;
pub use crate::figures::Figures;
pub use crate::options::{HELP, Options, Task};
pub use crate::protocol::{Part, Places, Protocol, Set, Source, protocols};
pub use crate::reference::Reference;
pub use crate::summary::summary;
