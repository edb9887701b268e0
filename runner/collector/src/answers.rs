//! Answers with samples, with limits on the memory of each and of all together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use foreglow_shared::{Sample, parse_line, write_csv};
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::body::busy;
use super::{Shared, failure, refusal};
use crate::store::{Filter, PART_BYTES, Page};

/// Memory of all answers together, in units of 256 KiB.
const UNITS: usize = 256;
/// Units of a streamed answer: a part being read, and one being sent.
const STREAM_UNITS: u32 = 1;
/// Size of the samples in a page of CSV, whose columns depend on all of them.
pub(super) const MAX_CSV_BYTES: u64 = 4 << 20;
/// Units of a page of CSV, whose samples are held as lines, as values and as text.
const CSV_UNITS: u32 = 128;
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

    /// Takes the memory of an answer that is streamed.
    ///
    /// # Errors
    /// The answer to the client: there is no memory left.
    pub(super) async fn take_for_stream(&self) -> Result<OwnedSemaphorePermit, Box<Response>> {
        self.take(STREAM_UNITS).await
    }

    async fn take(&self, units: u32) -> Result<OwnedSemaphorePermit, Box<Response>> {
        match timeout(PATIENCE, Arc::clone(&self.0).acquire_many_owned(units)).await {
            Ok(Ok(units)) => Ok(units),
            _ => Err(busy()),
        }
    }
}

/// Returns the lines of a page as a streamed body, which is read from the store at the client's
/// pace.
///
/// # Errors
/// The answer to the client: there is no memory left.
pub(super) async fn as_stream(shared: Shared, filter: Filter, start: i64, page: Page) -> Result<Body, Box<Response>> {
    let memory = Arc::new(shared.answers.take_for_stream().await?);
    let part = Filter { limit: Some(STREAMED_SAMPLES), ..filter };
    Ok(Body::from_stream(stream::try_unfold(start, move |after| {
        let (shared, part, memory) = (shared.clone(), part.clone(), Arc::clone(&memory));
        async move {
            let _memory = memory;
            if after >= page.end {
                return Ok::<_, anyhow::Error>(None);
            }
            let read = shared.storage.read(move |store| store.page_lines(&part, after, page, PART_BYTES));
            let (lines, end) = read.await?;
            let usable = lines.iter().filter(|line| parse_line(line).is_ok());
            let text: String = usable.flat_map(|line| [line.as_str(), "\n"]).collect();
            // Without further samples, such as after a removal, the position does not advance.
            Ok(Some((Bytes::from(text), if end > after { end } else { page.end })))
        }
    })))
}

/// Returns a page as CSV; a large page takes about a second.
///
/// # Errors
/// The answer to the client: the store cannot be read, there is no memory left, or the samples make
/// too large a table.
pub(super) async fn as_csv(shared: &Shared, filter: Filter, start: i64, page: Page) -> Result<Body, Box<Response>> {
    let memory = shared.answers.take(CSV_UNITS).await?;
    let read = shared.storage.read(move |store| store.page_lines(&filter, start, page, usize::MAX)).await;
    let (lines, _) = read.map_err(|error| Box::new(failure(&error)))?;
    let written = tokio::task::spawn_blocking(move || csv(&lines)).await;
    match written {
        Ok(Some(text)) => Ok(in_parts(Bytes::from(text), memory)),
        Ok(None) => {
            let sentence = "the samples have too many different fields for a table; ask for fewer with limit, or for \
                format=jsonl";
            Err(Box::new(refusal(StatusCode::BAD_REQUEST, sentence)))
        }
        Err(_) => Err(Box::new(refusal(StatusCode::INTERNAL_SERVER_ERROR, "the samples could not be written as CSV"))),
    }
}

/// Returns a body that holds its memory until the client has taken the last part.
fn in_parts(text: Bytes, memory: OwnedSemaphorePermit) -> Body {
    Body::from_stream(stream::unfold((text, memory), async |(mut text, memory)| {
        let part = text.split_to(text.len().min(PART_BYTES));
        (!part.is_empty()).then_some((Ok::<_, std::convert::Infallible>(part), (text, memory)))
    }))
}

/// Returns the table; `None` if it has too many cells.
fn csv(lines: &[String]) -> Option<String> {
    // A sample outside the limits, from an earlier version, would break every reader.
    let samples: Vec<Sample> = lines.iter().filter_map(|line| parse_line(line).ok()).collect();
    let mut columns = HashSet::new();
    for sample in &samples {
        add_columns("", &serde_json::to_value(sample).ok()?, &mut columns);
        if columns.len() * samples.len() > MOST_CELLS {
            return None;
        }
    }
    Some(write_csv(&samples))
}

/// Adds the names of the columns of a value.
fn add_columns(name: &str, value: &Value, columns: &mut HashSet<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(field, value)| add_columns(&format!("{name}.{field}"), value, columns));
        }
        _ => {
            columns.insert(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::sample;

    #[test]
    fn samples_that_differ_in_their_fields_make_no_table_without_limit() {
        let line = |number: usize| {
            let mut line = serde_json::to_value(sample(number as u128)).unwrap();
            (0..100).for_each(|field| line[format!("field{number}-{field}")] = 1.into());
            line.to_string()
        };
        let lines: Vec<String> = (0..100).map(line).collect();
        assert_eq!(csv(&lines), None);
        let text = csv(&lines[..10]).unwrap();
        assert_eq!(text.lines().count(), 11);
        assert!(text.contains("field9-99"));
    }
}
