//! The published method: the two-level hierarchy, the scenarios that isolate its parts, and the
//! table of their accuracy.

mod curve;
mod effects;
mod place;
mod row;
mod scenario;
mod scenario_table;
mod single;

pub(crate) use self::curve::{Curve, Halt};
pub use self::effects::{Effect, Effects};
pub use self::place::{Choice, Place};
pub use self::scenario::Scenario;
pub use self::scenario_table::{ScenarioRow, scenario_row, scenario_table};
