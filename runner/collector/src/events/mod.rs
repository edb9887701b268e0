//! `GET /api/v1/events`: new samples as server-sent events.
//!
//! One reader of the store serves all listeners of a kind of events, so that the cost of a write
//! does not grow with their number.

mod broadcast;
mod listener;
mod part;

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::IntoResponse as _;
use foreglow_shared::Uuid;
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;

use self::broadcast::Broadcast;
use self::listener::Listener;
use self::part::Of;
use super::access::Credential;
use super::lists::Asked;
use super::storage::Storage;
use super::{Answer, Shared};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// State announced to the event streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreChanges {
    /// Number of requests that stored samples.
    pub(super) posted: u64,
    /// Whether the collector is stopping.
    pub(super) stopping: bool,
}

/// The events of all listeners.
#[derive(Clone)]
pub(super) struct Events {
    samples: Arc<Broadcast>,
    jobs: Arc<Broadcast>,
}

impl Events {
    pub(super) fn new() -> Self {
        let of = |of| Arc::new(Broadcast::new(of));
        Self { samples: of(Of::Samples), jobs: of(Of::Jobs) }
    }

    /// Reads new samples for the listeners until the collector stops.
    pub(super) async fn read(self, storage: Storage, changes: watch::Receiver<StoreChanges>) {
        tokio::join!(self.samples.read(&storage, changes.clone()), self.jobs.read(&storage, changes));
    }

    /// Returns the number of open event streams.
    pub(super) fn listeners(&self) -> usize {
        self.samples.listeners() + self.jobs.listeners()
    }

    fn of(&self, of: Of) -> &Arc<Broadcast> {
        match of {
            Of::Samples => &self.samples,
            Of::Jobs => &self.jobs,
        }
    }
}

/// Query of the route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    after: Option<Uuid>,
    #[serde(default)]
    of: Of,
}

/// Sends every sample that arrives after the one given by `after` or `Last-Event-ID`, or otherwise
/// new ones only. Each event is a `sample` with the sample's ID and its JSON as data, or a `job`
/// that has new samples.
pub(super) async fn events(
    State(shared): State<Shared>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
    Asked(EventsQuery { after, of }): Asked<EventsQuery>,
) -> Answer {
    // A reconnecting client is further than its original `after`.
    let reconnecting = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse().ok());
    let after = match reconnecting.or(after) {
        Some(id) => shared.storage.read(move |store| store.position(id)).await?,
        None => shared.storage.read(|store| store.end()).await?,
    };
    let broadcast = Arc::clone(shared.events.of(of));
    let listener = Listener::new(shared, broadcast, credential, after);
    let stream = stream::unfold(listener, async |mut listener| {
        let text = listener.next().await?;
        Some((Ok::<_, Infallible>(text), listener))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(stream)).into_response())
}
