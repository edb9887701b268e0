//! `GET /api/v1/events`: samples as they arrive, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use foreglow_shared::{Uuid, parse_line};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;

use super::{Shared, refusal};
use crate::exit::UnusableInput;

/// What another program writes into the store is found after so long; what is posted here, at once.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Samples that are read from the store at a time.
const BATCH: usize = 1_000;
/// A reader that lost the connection asks again after so long.
const RETRY: Duration = Duration::from_secs(2);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What is told to those who listen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Grows with every request that stored something.
    pub(super) posted: u64,
    /// The collector is told to stop.
    pub(super) stopping: bool,
}

/// The query of the route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    after: Option<Uuid>,
}

/// Sends every sample that arrives after the one that `after` or `Last-Event-ID` names; without either, those that arrive
/// from now on. Each event is a `sample`, its id the sample's, its data the sample's JSON.
pub(super) async fn events(
    State(shared): State<Shared>,
    headers: HeaderMap,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Response {
    let after = match query {
        Ok(Query(query)) => query.after,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    // What a reader that reconnects has already had counts before what it first asked for.
    let reconnecting = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse().ok());
    let news = shared.news.subscribe();
    let start = match reconnecting.or(after) {
        Some(id) => shared.with_store(move |store| store.position(id)).await,
        None => shared.with_store(|store| store.end()).await,
    };
    let after = match start {
        Ok(position) => position,
        Err(error) if error.is::<UnusableInput>() => return refusal(StatusCode::BAD_REQUEST, error),
        Err(error) => return refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
    };
    let reader = Reader { shared, news, after, waiting: VecDeque::new(), greeted: false };
    let stream = stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok::<Event, Infallible>(event), reader))
    });
    let mut response = Sse::new(stream).keep_alive(KeepAlive::default()).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// One who listens.
struct Reader {
    shared: Shared,
    news: watch::Receiver<News>,
    /// Where the last sample stands in the store that was read for them.
    after: i64,
    waiting: VecDeque<String>,
    greeted: bool,
}

impl Reader {
    /// The next event; `None` once the collector stops, or the store can no longer be read: the reader asks again.
    async fn next(&mut self) -> Option<Event> {
        if !self.greeted {
            self.greeted = true;
            // An answer that has begun tells a browser that the collector is there.
            return Some(Event::default().retry(RETRY).comment("samples follow as they arrive"));
        }
        loop {
            if let Some(line) = self.waiting.pop_front() {
                // The store holds nothing but samples.
                let id = parse_line(&line).ok()?.id;
                return Some(Event::default().event("sample").id(id.to_string()).data(line));
            }
            if self.news.borrow_and_update().stopping {
                return None;
            }
            let after = self.after;
            let (lines, end) = self.shared.with_store(move |store| store.lines_after(after, BATCH)).await.ok()?;
            if lines.is_empty() {
                // Either way the store is looked at again.
                let _ = tokio::time::timeout(LOOK_AGAIN, self.news.changed()).await;
            }
            self.after = end;
            self.waiting.extend(lines);
        }
    }
}
