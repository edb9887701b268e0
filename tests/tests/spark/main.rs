//! The Spark engine on real standalone clusters.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

mod accelerators;
mod exported;
mod faults;
mod killed;
mod missing;
mod support;
mod sweep;
mod texts;
mod training;
