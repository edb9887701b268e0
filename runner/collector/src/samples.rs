//! Routes for samples.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use foreglow_exit::complain;
use foreglow_shared::{Engine, Mode, Outcome, Timestamp, Uuid, parse_line};
use serde::{Deserialize, Serialize};

use super::access::{Credential, Turns};
use super::answers::{MAX_CSV_BYTES, as_csv, as_stream};
use super::body::{Body, BodyShare, Lines, busy};
use super::lists::{Asked, Limits, next_page, set_next};
use super::{Answer, Refused, Shared, refusal};
use foreglow_store::{After, Encoded, Filter};

/// Samples in an answer.
const LIMITS: Limits = Limits { default: 10_000, most: 100_000 };
/// Invalid lines that are reported individually; further ones are only counted.
const MAX_NAMED_REJECTIONS: usize = 1_000;
/// Maximum number of lines in a request, blank ones not counted.
const MAX_LINES: usize = 20_000;
/// Maximum size of a line, and so of each of its fields. A sample has about half a KiB.
const MAX_LINE_BYTES: usize = 64 << 10;
/// Earliest submission, 2000-01-01. A machine whose clock was not set has 1970.
const EARLIEST: Timestamp = Timestamp::constant(946_684_800, 0);
/// Most that the clock of a machine may be ahead.
const MOST_AHEAD: Duration = Duration::from_hours(24);
/// Size up to which a body is parsed on the same thread, because handing it over would take longer.
const SMALL_BODY_BYTES: usize = 16 << 10;

/// Result of posting samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Samples that the collector did not have.
    pub new: usize,
    /// Samples that it already had with the same content. Posting a sample twice has no effect.
    pub known: usize,
    /// Samples whose id the collector has with other content; the stored sample stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Rejection>,
    /// Invalid lines.
    pub rejected: Vec<Rejection>,
    /// Number of further invalid lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected_more: usize,
}

impl Receipt {
    /// Returns the number of lines that were not stored.
    pub fn not_stored(&self) -> usize {
        self.rejected.len() + self.rejected_more + self.conflicts.len()
    }
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Line number, from 1.
    pub line: usize,
    /// Reason.
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// `POST /api/v1/samples`: stores a JSON Lines body, and answers once the samples are on disk.
pub(super) async fn accept(State(shared): State<Shared>, request: Request) -> Answer {
    let sender: Option<Arc<str>> =
        request.extensions().get().and_then(|sent: &Credential| sent.name.as_deref().map(Arc::from));
    let Body { lines, memory } = shared.bodies.read(request).await?;
    let times = Times::of(shared.keep, Timestamp::now());
    let parsed = match lines.len() {
        0..=SMALL_BODY_BYTES => Ok(sort_out(lines, memory, times)),
        // Parsing a large body takes a second, which would block all other requests.
        _ => {
            let parser = Arc::clone(&shared.parsers).acquire_owned().await.map_err(|_| busy())?;
            let sorted = tokio::task::spawn_blocking(move || {
                let _parser = parser;
                sort_out(lines, memory, times)
            });
            sorted.await
        }
    };
    let unreadable = |_| refusal(StatusCode::INTERNAL_SERVER_ERROR, "the samples could not be read");
    let Sorted { samples, mut receipt, memory } = parsed.map_err(unreadable)??;
    if samples.is_empty() {
        shared.metrics.received(&receipt);
        return Ok(match receipt.rejected.is_empty() {
            true => refusal(StatusCode::BAD_REQUEST, "the request has no samples; send one JSON object per line"),
            false => (StatusCode::BAD_REQUEST, Json(receipt)).into_response(),
        });
    }
    let sent = samples.into_iter().map(|(line, sample)| (line, sample.sent_by(sender.clone())));
    let (lines, samples): (Vec<usize>, Vec<Encoded>) = sent.unzip();
    let ids: Vec<String> = samples.iter().map(|sample| sample.id().to_owned()).collect();
    match shared.storage.insert(samples, memory).await {
        Ok(inserted) => {
            receipt.new = inserted.new;
            receipt.known = inserted.known;
            let conflict = |index: usize| Rejection {
                line: lines[index],
                error: format!("another sample with the id {} is stored, and was kept", ids[index]),
            };
            receipt.conflicts = inserted.conflicts.into_iter().map(conflict).collect();
            shared.metrics.received(&receipt);
            if inserted.new > 0 {
                shared.changes.send_modify(|changes| changes.posted += 1);
            }
            Ok(Json(receipt).into_response())
        }
        Err(error) => {
            complain(&format!("foreglow: samples were rejected: {error:#}"));
            shared.metrics.store_errors.fetch_add(1, Ordering::Relaxed);
            Err(refusal(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")).into())
        }
    }
}

/// Times of submission that are accepted. The clock of a machine is wrong outside of them, or the
/// sample would be removed at once.
#[derive(Clone, Copy, Debug)]
struct Times {
    earliest: Timestamp,
    latest: Timestamp,
    /// Whether the collector removes earlier samples.
    removes: bool,
}

impl Times {
    fn of(keep: Option<Duration>, now: Timestamp) -> Self {
        let latest = now.checked_add(MOST_AHEAD).unwrap_or(Timestamp::MAX);
        let kept = keep.and_then(|keep| now.checked_sub(keep).ok()).filter(|kept| *kept > EARLIEST);
        Self { earliest: kept.unwrap_or(EARLIEST), latest, removes: kept.is_some() }
    }

    fn check(self, started_at: Timestamp) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("started_at is {started_at}, {why}"));
        if started_at > self.latest {
            return wrong("which is in the future; set the clock of the machine, and correct it");
        }
        match started_at < self.earliest {
            true if self.removes => wrong("and this collector removes samples from that time (--keep)"),
            true => wrong("which is before 2000; set the clock of the machine, and correct it"),
            false => Ok(()),
        }
    }
}

/// The lines of a body after parsing.
struct Sorted {
    /// The valid ones, with their line numbers.
    samples: Vec<(usize, Encoded)>,
    receipt: Receipt,
    memory: BodyShare,
}

/// Parses the lines into encoded samples and rejections. Blank lines are ignored. The memory grows
/// with the samples, which can be several times as large as the lines.
///
/// # Errors
/// The answer to the sender: there are more than [`MAX_LINES`] lines, or there is no memory left.
fn sort_out(lines: Lines, memory: BodyShare, times: Times) -> Result<Sorted, Box<Response>> {
    let mut sorted = Sorted { samples: Vec::new(), receipt: Receipt::default(), memory };
    let (mut line, mut count, mut bytes) = (0, 0, lines.len());
    for chunk in lines.into_chunks() {
        for text in chunk.split(|byte| *byte == b'\n') {
            line += 1;
            if text.trim_ascii().is_empty() {
                continue;
            }
            if count == MAX_LINES {
                let sentence =
                    format!("a request may have at most {MAX_LINES} lines; send the samples in several requests");
                return Err(Box::new(refusal(StatusCode::PAYLOAD_TOO_LARGE, sentence)));
            }
            count += 1;
            let receipt = &mut sorted.receipt;
            match parse(text, times) {
                Ok(sample) => {
                    bytes += sample.size_bytes();
                    sorted.memory.extend_to(bytes)?;
                    sorted.samples.push((line, sample));
                }
                Err(_) if receipt.rejected.len() == MAX_NAMED_REJECTIONS => receipt.rejected_more += 1,
                Err(error) => receipt.rejected.push(Rejection { line, error }),
            }
        }
        bytes -= chunk.len();
    }
    Ok(sorted)
}

fn parse(line: &[u8], times: Times) -> Result<Encoded, String> {
    if line.len() > MAX_LINE_BYTES {
        let (length, limit) = (line.len(), MAX_LINE_BYTES >> 10);
        return Err(format!("it has {length} bytes; a sample may have at most {limit} KiB"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let sample = parse_line(text).map_err(|error| error.to_string())?;
    times.check(sample.started_at)?;
    Encoded::new(&sample).map_err(|error| error.to_string())
}

/// Query of `GET /api/v1/samples`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    model: Option<String>,
    mode: Option<Mode>,
    engine: Option<Engine>,
    outcome: Option<Outcome>,
    /// Fingerprint of a job.
    job: Option<String>,
    since: Option<Timestamp>,
    after: Option<After>,
    limit: Option<usize>,
    format: Option<ListFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ListFormat {
    Jsonl,
    Csv,
}

/// `GET /api/v1/samples`: the samples that match the filters, in order of arrival, as JSON Lines or
/// CSV. If there are more, the `Link` header has the next page.
pub(super) async fn list(
    State(shared): State<Shared>,
    Extension(turns): Extension<Turns>,
    headers: HeaderMap,
    uri: axum::http::Uri,
    Asked(query): Asked<ListQuery>,
) -> Answer {
    let limit = LIMITS.apply(query.limit)?;
    let format = query.format.unwrap_or_else(|| accepted_format(&headers));
    let filter = Filter {
        model: query.model,
        mode: query.mode,
        engine: query.engine,
        outcome: query.outcome,
        job: query.job,
        since: query.since,
        after: query.after,
        limit: Some(limit),
    };
    let most_bytes = match format {
        ListFormat::Jsonl => u64::MAX,
        ListFormat::Csv => MAX_CSV_BYTES,
    };
    let wanted = filter.clone();
    let found = shared.storage.read(move |store| Ok((store.start(&wanted)?, store.page(&wanted, most_bytes)?))).await;
    let (start, page) = found?;
    let (body, content_type) = match format {
        ListFormat::Jsonl => (as_stream(shared, turns, filter, (start, page)).await?, "application/jsonl"),
        ListFormat::Csv => {
            (as_csv(shared, turns, filter, (start, page)).await?, "text/csv; charset=utf-8; header=present")
        }
    };
    let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")];
    let mut response = (headers, body).into_response();
    set_next(&mut response, page.next.map(|last| next_page(&uri, last)));
    Ok(response)
}

/// `GET /api/v1/samples/ID`: one sample as JSON.
pub(super) async fn one(State(shared): State<Shared>, Path(id): Path<String>) -> Answer {
    let id = parse_id(&id)?;
    let line = shared.storage.read(move |store| store.sample_line(id)).await?.ok_or_else(|| not_there(id))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], line + "\n").into_response())
}

/// `DELETE /api/v1/samples/ID`: removes one sample. Open planners keep it until they are reloaded.
pub(super) async fn remove(
    State(shared): State<Shared>,
    Extension(credential): Extension<Credential>,
    Path(id): Path<String>,
) -> Answer {
    let id = parse_id(&id)?;
    let who = credential.name.unwrap_or_else(|| "a request without a token".to_owned());
    match shared.storage.write(move |store| store.remove(&[id], &who)).await? {
        0 => Err(not_there(id)),
        removed => Ok(Json(serde_json::json!({ "removed": removed })).into_response()),
    }
}

fn parse_id(text: &str) -> Result<Uuid, Refused> {
    let sentence = || format!("{text:?} is no id of a sample; it is a UUID");
    text.parse().map_err(|_| refusal(StatusCode::BAD_REQUEST, sentence()).into())
}

fn not_there(id: Uuid) -> Refused {
    refusal(StatusCode::NOT_FOUND, format!("there is no sample with the id {id}")).into()
}

fn accepted_format(headers: &HeaderMap) -> ListFormat {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/csv")) { ListFormat::Csv } else { ListFormat::Jsonl }
}
