//! The parts of the page, one a file.

mod candidates;
mod compare;
mod data;
mod header;
mod messages;
mod prediction;
mod prices;
mod question;
mod recommended;
mod scenarios;
mod share;
mod what_if;
mod why;

pub use self::candidates::Candidates;
pub use self::compare::Compare;
pub use self::data::{DataPanel, EmptyPage};
pub use self::header::{Header, JobTitle};
pub use self::messages::{Alert, Newer};
pub use self::prediction::{capitalised, counted};
pub use self::question::QuestionPanel;
pub use self::recommended::Recommended;
pub use self::scenarios::Scenarios;
pub use self::what_if::WhatIfPanel;
pub use self::why::{Explained, WhyButton, WhySheet};
