//! Reading of samples.

use std::fmt;
use std::str::FromStr;

use foreglow_shared::{Engine, Mode, Outcome, Sample, Uuid};
use serde::Deserialize;

use super::row::{Value, maybe_text};
use super::{Filter, Store};

/// Size of the samples per read while an answer is sent.
pub const PART_BYTES: usize = 128 << 10;

/// Place in the order of arrival, after which samples follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum After {
    /// Place of the sample with this id.
    Id(Uuid),
    /// Position of a sample whose id is damaged.
    Position(i64),
}

impl FromStr for After {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let position = |_| text.parse().map(Self::Position);
        let after = text.parse().map(Self::Id).or_else(position);
        after.map_err(|_| format!("{text:?} is neither the id of a sample, a UUID, nor a position"))
    }
}

impl TryFrom<String> for After {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Position(position) => position.fmt(f),
        }
    }
}

/// Part of the samples that match a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Position of the last sample.
    pub end: i64,
    /// Place of the last sample, if others follow.
    pub next: Option<After>,
}

impl Page {
    /// All samples.
    pub const ALL: Self = Self { end: i64::MAX, next: None };
}

/// Query of the samples that match [`parameters`].
const MATCHING: &str = "FROM samples
    WHERE seq > $1 AND seq <= $2
      AND (CAST($3 AS TEXT) IS NULL OR model = $3) AND (CAST($4 AS TEXT) IS NULL OR mode = $4)
      AND (CAST($5 AS TEXT) IS NULL OR engine = $5) AND (CAST($6 AS TEXT) IS NULL OR outcome = $6)
      AND (CAST($7 AS BIGINT) IS NULL OR started_at_us >= $7)
      AND (CAST($9 AS TEXT) IS NULL OR run IN (SELECT number FROM runs WHERE job = $9))
    ORDER BY seq LIMIT $8";

/// Returns the parameters of [`MATCHING`].
fn parameters(filter: &Filter, after: i64, end: i64, most: usize) -> [Value; 9] {
    [
        Value::Integer(after),
        Value::Integer(end),
        maybe_text(filter.model.as_deref()),
        maybe_text(filter.mode.map(Mode::as_str)),
        maybe_text(filter.engine.map(Engine::as_str)),
        maybe_text(filter.outcome.map(Outcome::as_str)),
        filter.since.map(|since| since.as_microsecond()).into(),
        Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)),
        maybe_text(filter.job.as_deref()),
    ]
}

impl Store {
    /// Returns the sample with this id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sample_line(&self, id: Uuid) -> anyhow::Result<Option<String>> {
        let query = "SELECT line FROM samples WHERE id = $1";
        Ok(self.read(query, &[Value::Text(id.to_string())], |mut row| row.text(0))?.pop())
    }

    /// Returns the samples that match the filter.
    ///
    /// # Errors
    /// The store cannot be read, or [`Filter::after`] is unknown.
    pub fn samples(&self, filter: &Filter) -> anyhow::Result<Vec<Sample>> {
        Ok(self.parse(&self.sample_lines(filter)?))
    }

    /// Returns the samples that match the filter as lines of JSON, as they were stored.
    ///
    /// # Errors
    /// As for [`Store::samples`].
    pub fn sample_lines(&self, filter: &Filter) -> anyhow::Result<Vec<String>> {
        let after = self.start(filter)?;
        Ok(self.page_lines(filter, after, Page::ALL, usize::MAX)?.0)
    }

    /// Returns the position after which the samples of a filter begin.
    ///
    /// # Errors
    /// [`Filter::after`] is unknown.
    pub fn start(&self, filter: &Filter) -> anyhow::Result<i64> {
        match filter.after {
            None => Ok(0),
            Some(After::Id(id)) => self.position(id),
            Some(After::Position(position)) => Ok(position),
        }
    }

    /// Returns the end of a page of samples that match the filter: after [`Filter::limit`] samples,
    /// or before this number of bytes, but at least one sample.
    ///
    /// # Errors
    /// As for [`Store::samples`].
    pub fn page(&self, filter: &Filter, most_bytes: u64) -> anyhow::Result<Page> {
        let after = self.start(filter)?;
        let most = filter.limit.unwrap_or(usize::MAX);
        let query = format!("SELECT seq, id, octet_length(line) {MATCHING}");
        let mut page = Page { end: after, next: None };
        let (mut last, mut count, mut bytes, mut has_more) = (None, 0, 0, false);
        // Reads one sample more, to know whether there is a next page.
        let of_page = parameters(filter, after, i64::MAX, most.saturating_add(1));
        self.database
            .each(&query, &of_page, &mut |mut row| {
                bytes += row.integer(2).map_or(0, i64::unsigned_abs) + 1;
                has_more = count == most || (count > 0 && bytes > most_bytes);
                if has_more {
                    return Ok(false);
                }
                page.end = row.integer(0)?;
                last = row.id(1);
                count += 1;
                Ok(true)
            })
            .map_err(|failure| self.explain(&failure))?;
        if has_more {
            // A damaged id matches no sample or another one.
            let is_found = |id: &Uuid| Ok::<_, anyhow::Error>(self.find(*id)? == Some(page.end));
            page.next = match last {
                Some(id) if is_found(&id)? => Some(After::Id(id)),
                _ => Some(After::Position(page.end)),
            };
        }
        Ok(page)
    }

    /// Returns samples of a page after a position, as stored, and the position of the last one. The
    /// last one is the sample that reaches this number of bytes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn page_lines(
        &self,
        filter: &Filter,
        after: i64,
        page: Page,
        most_bytes: usize,
    ) -> anyhow::Result<(Vec<String>, i64)> {
        let query = format!("SELECT seq, line {MATCHING}");
        let most = filter.limit.unwrap_or(usize::MAX);
        let (mut lines, mut end, mut bytes) = (Vec::new(), after, 0);
        self.database
            .each(&query, &parameters(filter, after, page.end, most), &mut |mut row| {
                end = row.integer(0)?;
                lines.push(row.text(1)?);
                bytes += lines.last().map_or(0, String::len);
                Ok(bytes < most_bytes)
            })
            .map_err(|failure| self.explain(&failure))?;
        Ok((lines, end))
    }
}
