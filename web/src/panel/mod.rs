//! The parts of the page, one a file.

mod advice;
mod candidates;
mod data;
mod export;
mod header;
mod import;
mod keys;
mod live;
mod messages;
mod prediction;
mod prices;
mod qr;
mod question;
mod recommended;
mod samples;
mod saved;
mod scenarios;
mod share;
mod what_if;

pub use self::advice::NextSamples;
pub use self::candidates::Candidates;
pub use self::data::{DataPanel, EmptyPage};
pub use self::export::Export;
pub use self::header::{Header, JobTitle};
pub use self::import::ImportPanel;
pub use self::live::LiveStatus;
pub use self::messages::{Alert, Newer};
pub use self::prediction::counted;
pub use self::question::QuestionPanel;
pub use self::recommended::Recommended;
pub use self::samples::Samples;
pub use self::scenarios::Scenarios;
pub use self::what_if::WhatIfPanel;
