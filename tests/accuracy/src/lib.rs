//! The test bed of the default predictor: every protocol, clean and with slow runs, beside the rivals.

mod bouts;
mod chance;
mod contestant;
mod figures;
mod options;
mod protocol;
mod slowed;
mod splits;
mod summary;
mod table;
mod trial;

pub use crate::bouts::rows;
pub use crate::figures::{Covered, Row};
pub use crate::options::{HELP, Options};
pub use crate::protocol::{Part, Places, Protocol, Set, protocols};
pub use crate::summary::summary;
