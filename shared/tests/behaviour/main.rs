//! What crosses a boundary arrives as it left, or is named with what to do about it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what serves tests may panic as tests do")]

mod contexts;
mod event_logs;
mod foreign;
mod formats;
mod links;
mod prices;
mod samples;
mod words;
