//! Answers with samples, with limits on the memory of each and of all together.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use foreglow_shared::{CsvColumns, Sample, parse_line};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::access::Turns;
use super::body::busy;
use super::{Shared, failure, refusal};
use foreglow_store::{Filter, PART_BYTES, Page};

/// Memory of all answers together, in units of 256 KiB.
const UNITS: usize = 256;
/// Units of a streamed answer: a part being read, and one being sent.
const STREAM_UNITS: u32 = 1;
/// Size of the samples in a page of CSV, whose columns depend on all of them.
pub(super) const MAX_CSV_BYTES: u64 = 4 << 20;
/// Limit on the cells of a page of CSV. Samples with different fields have cells for all of them.
const MOST_CELLS: usize = 500_000;
/// Time that a request waits for free memory before it is refused.
const PATIENCE: Duration = Duration::from_secs(5);
/// Samples per read from the store while an answer is sent.
const STREAMED_SAMPLES: usize = 64;

/// Memory for the answers of all requests.
#[derive(Clone, Debug)]
pub(super) struct AnswerMemory(Arc<Semaphore>);

impl AnswerMemory {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(UNITS)))
    }

    /// Takes the memory of an answer, all of which are streamed.
    ///
    /// # Errors
    /// The answer to the client: there is no memory left.
    pub(super) async fn take_for_stream(&self) -> Result<OwnedSemaphorePermit, Box<Response>> {
        match timeout(PATIENCE, Arc::clone(&self.0).acquire_many_owned(STREAM_UNITS)).await {
            Ok(Ok(units)) => Ok(units),
            _ => Err(busy()),
        }
    }
}

/// Returns the lines of a page as a streamed body.
///
/// # Errors
/// The answer to the client: there is no memory left.
pub(super) async fn as_stream(
    shared: Shared,
    turns: Turns,
    filter: Filter,
    part: (i64, Page),
) -> Result<Body, Box<Response>> {
    let text = |lines: Vec<String>| {
        let usable = lines.iter().filter(|line| parse_line(line).is_ok());
        usable.flat_map(|line| [line.as_str(), "\n"]).collect()
    };
    let memory = shared.answers.take_for_stream().await?;
    Ok(streamed((shared, turns), filter, part, String::new(), memory, text))
}

/// Returns a page as CSV, as a streamed body. The samples are read twice: for the columns, and for
/// their lines.
///
/// # Errors
/// The answer to the client: the store cannot be read, there is no memory left, or the samples make
/// too large a table.
pub(super) async fn as_csv(
    shared: Shared,
    turns: Turns,
    filter: Filter,
    (start, page): (i64, Page),
) -> Result<Body, Box<Response>> {
    let memory = shared.answers.take_for_stream().await?;
    let (mut table, mut after) = (Table::default(), start);
    while after < page.end {
        let part = Filter { limit: Some(STREAMED_SAMPLES), ..filter.clone() };
        let read = shared.storage.read(move |store| {
            let (lines, end) = store.page_lines(&part, after, page, PART_BYTES)?;
            table.add(&lines);
            Ok((table, end))
        });
        let end;
        (table, end) = read.await.map_err(|error| Box::new(failure(&error)))?;
        if table.cells() > MOST_CELLS {
            let sentence = "the samples have too many different fields for a table; ask for fewer with limit, or for \
                format=jsonl";
            return Err(Box::new(refusal(StatusCode::BAD_REQUEST, sentence)));
        }
        after = if end > after { end } else { page.end };
    }
    let Table { columns, .. } = table;
    let header = columns.header();
    Ok(streamed((shared, turns), filter, (start, page), header, memory, move |lines| columns.rows(&samples(&lines))))
}

/// Returns a body that is read from the store at the client's pace. It holds its memory until the
/// client has taken the last part.
fn streamed(
    (shared, turns): (Shared, Turns),
    filter: Filter,
    (start, page): (i64, Page),
    first: String,
    memory: OwnedSemaphorePermit,
    text: impl Fn(Vec<String>) -> String + Send + Sync + 'static,
) -> Body {
    let (memory, text) = (Arc::new(memory), Arc::new(text));
    let part = Filter { limit: Some(STREAMED_SAMPLES), ..filter };
    Body::from_stream(stream::try_unfold((start, first), move |(after, first)| {
        let (shared, turns, part) = (shared.clone(), turns.clone(), part.clone());
        let (memory, text) = (Arc::clone(&memory), Arc::clone(&text));
        async move {
            let _memory = memory;
            if after >= page.end {
                return Ok::<_, anyhow::Error>(
                    (!first.is_empty()).then(|| (Bytes::from(first), (after, String::new()))),
                );
            }
            let _turn = turns.take().await;
            let read = shared.storage.read(move |store| {
                let (lines, end) = store.page_lines(&part, after, page, PART_BYTES)?;
                Ok((text(lines), end))
            });
            let (text, end) = read.await?;
            // Without further samples, such as after a removal, the position does not advance.
            let next = if end > after { end } else { page.end };
            Ok(Some((Bytes::from(first + &text), (next, String::new()))))
        }
    }))
}

/// Returns the samples of lines. Samples outside the limits, from an earlier version, would break
/// every reader.
fn samples(lines: &[String]) -> Vec<Sample> {
    lines.iter().filter_map(|line| parse_line(line).ok()).collect()
}

/// The columns and the number of rows of a page of CSV.
#[derive(Debug, Default)]
struct Table {
    columns: CsvColumns,
    rows: usize,
}

impl Table {
    fn add(&mut self, lines: &[String]) {
        for sample in samples(lines) {
            self.columns.add(&sample);
            self.rows += 1;
        }
    }

    fn cells(&self) -> usize {
        self.columns.count() * self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::sample;

    #[test]
    fn samples_that_differ_in_their_fields_have_a_cell_for_each_of_them() {
        let line = |number: usize| {
            let mut line = serde_json::to_value(sample(number as u128)).unwrap();
            (0..100).for_each(|field| line[format!("field{number}-{field}")] = 1.into());
            line.to_string()
        };
        let lines: Vec<String> = (0..100).map(line).collect();
        let mut table = Table::default();
        table.add(&lines);
        assert!(table.cells() > MOST_CELLS, "{}", table.cells());
        assert!(table.columns.header().contains("field99-99"));
        assert_eq!(table.columns.rows(&samples(&lines[..10])).lines().count(), 10);
    }
}
