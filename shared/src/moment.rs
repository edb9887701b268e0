//! Reading moments and days, with a sentence where it is none: what the library says of each mistake would be a fiftieth of
//! the page.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::de::{Deserialize as _, Deserializer, Error as _};

/// A moment such as `2026-01-31T10:00:00Z`.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    parsed(deserializer, "moment such as 2026-01-31T10:00:00Z")
}

/// A day such as `2026-01-31`.
pub(crate) fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    parsed(deserializer, "date such as 2026-01-31")
}

fn parsed<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D, kind: &str) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is no {kind}")))
}
