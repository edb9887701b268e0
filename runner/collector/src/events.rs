//! `GET /api/v1/events`: new samples as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use foreglow_shared::{Uuid, parse_line};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;

use super::access::Credential;
use super::{Shared, failure, refusal};
use crate::store::{Arrived, Store};

/// Poll interval for samples that other processes write into the store. Posted samples are sent at
/// once, and so are those of another collector that serves the same PostgreSQL database.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Samples per query of the store.
const BATCH: usize = 100;
/// Samples that are counted together in events of jobs.
const JOB_BATCH: usize = 10_000;
/// Reconnect delay for clients that lose the connection.
const RETRY: Duration = Duration::from_secs(2);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// State announced to the event streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Number of requests that have stored something.
    pub(super) posted: u64,
    /// Whether the collector is stopping.
    pub(super) stopping: bool,
}

/// Query of the route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    after: Option<Uuid>,
    #[serde(default)]
    of: Of,
}

/// What the events are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Of {
    /// Each is a sample.
    #[default]
    Samples,
    /// Each is a job with its number of new samples, which is all that the planner needs.
    Jobs,
}

/// Sends every sample that arrives after the one given by `after` or `Last-Event-ID`, or else from
/// now on. Each event is a `sample` with the sample's ID and its JSON as data, or a `job` that has
/// new samples.
pub(super) async fn events(
    State(shared): State<Shared>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    let EventsQuery { after, of } = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    // A reconnecting client has read further than its original `after`.
    let reconnecting = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse().ok());
    let news = shared.news.subscribe();
    let start = match reconnecting.or(after) {
        Some(id) => shared.storage.read(move |store| store.position(id)).await,
        None => shared.storage.read(|store| store.end()).await,
    };
    let after = match start {
        Ok(position) => position,
        Err(error) => return failure(&error),
    };
    let reader = Reader { shared, credential, news, of, after, waiting: VecDeque::new(), greeted: false };
    let stream = stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok::<Event, Infallible>(event), reader))
    });
    let mut response = Sse::new(stream).keep_alive(KeepAlive::default()).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Of {
    /// Returns the next events after a position, and the position of the last sample of these.
    fn after(self, store: &Store, position: i64) -> anyhow::Result<(Vec<Event>, i64)> {
        match self {
            Self::Samples => {
                let (lines, end) = store.lines_after(position, BATCH)?;
                // The store holds only valid samples.
                let id = |line: &str| parse_line(line).ok().map(|sample| sample.id.to_string());
                let event = |line: String| Some(Event::default().event("sample").id(id(&line)?).data(line));
                Ok((lines.into_iter().filter_map(event).collect(), end))
            }
            Self::Jobs => {
                let (arrived, end, last_id) = store.arrived_after(position, JOB_BATCH)?;
                let count = arrived.len();
                let event = |(index, arrived): (usize, Arrived)| {
                    let data = serde_json::json!({ "job": arrived.job, "samples": arrived.samples });
                    let event = Event::default().event("job").data(data.to_string());
                    // A client continues after the last event that had an id.
                    if index + 1 == count { event.id(&last_id) } else { event }
                };
                Ok((arrived.into_iter().enumerate().map(event).collect(), end))
            }
        }
    }
}

/// State of one event stream.
struct Reader {
    shared: Shared,
    credential: Credential,
    news: watch::Receiver<News>,
    of: Of,
    /// Position of the last sample read from the store.
    after: i64,
    waiting: VecDeque<Event>,
    greeted: bool,
}

impl Reader {
    /// Returns the next event, or `None` when the collector stops or the store fails; the client
    /// then reconnects.
    async fn next(&mut self) -> Option<Event> {
        if !self.greeted {
            self.greeted = true;
            // Sending a first event shows the browser that the connection works.
            return Some(Event::default().retry(RETRY).comment("samples follow as they arrive"));
        }
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.news.borrow_and_update().stopping {
                return None;
            }
            let (after, of) = (self.after, self.of);
            let (events, end) = self.shared.storage.read(move |store| of.after(store, after)).await.ok()?;
            if events.is_empty() {
                // A token may have been revoked.
                if !self.shared.gate.may_read(self.credential.hash).await {
                    return None;
                }
                // The store is polled again in either case.
                let _ = tokio::time::timeout(LOOK_AGAIN, self.news.changed()).await;
            }
            self.after = end;
            self.waiting.extend(events);
        }
    }
}
