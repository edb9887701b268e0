//! The collector: receives timing samples over HTTP, serves them, and serves the planner embedded
//! in the binary.

mod access;
pub mod address;
mod body;
mod connections;
mod events;
mod planner;
mod samples;
mod stalled;
mod storage;
pub mod store;
pub mod upload;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use foreglow_exit::{Signals, unusable};
use foreglow_shared::format_count;
use tokio::sync::{Semaphore, watch};

pub use self::access::Access;
use self::body::BodyMemory;
use self::events::News;
pub use self::samples::{Receipt, Rejection};
use self::storage::Storage;
use crate::store::Store;

/// Maximum size of a request body.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Grace period for requests in progress when the collector stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Bodies that are parsed at the same time, each on a thread of its own.
const PARSERS: usize = 2;
/// Stores up to this size are checked completely before they are served; larger ones are checked
/// for their structure, and each sample when it is read.
const CHECKED_BYTES: u64 = 256 << 20;

/// State shared by all requests.
#[derive(Clone)]
struct Shared {
    storage: Storage,
    bodies: BodyMemory,
    /// Bodies that are parsed at the same time.
    parsers: Arc<Semaphore>,
    access: Arc<Access>,
    is_local: bool,
    news: watch::Sender<News>,
}

/// A bound address, on which [`Collector::run`] answers.
#[derive(Debug)]
pub struct Collector {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
}

impl Collector {
    /// Binds the address, so that connections from now on wait for [`Collector::run`].
    ///
    /// # Errors
    /// The address is in use, does not belong to this machine, or is open to others without a
    /// token.
    pub fn bind(listen: SocketAddr, access: Access) -> anyhow::Result<Self> {
        access.check(listen)?;
        let listener = TcpListener::bind(listen).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => unusable(format!(
                "{listen} is in use by another program; stop that program, or use a free port with --listen {}:0",
                host(listen)
            )),
            std::io::ErrorKind::AddrNotAvailable => {
                unusable(format!("{listen} is not an address of this machine; try --listen 127.0.0.1:8787"))
            }
            std::io::ErrorKind::PermissionDenied => unusable(format!(
                "this user may not listen on {listen}; use a port above 1023, such as --listen {}:8787",
                host(listen)
            )),
            _ => anyhow::Error::new(error).context(format!("cannot listen on {listen}")),
        })?;
        listener.set_nonblocking(true).context("the listening socket cannot be set up")?;
        let address = listener.local_addr().context("the listening socket has no address")?;
        Ok(Self { listener, address, access })
    }

    /// Returns the URL of the planner, such as `http://127.0.0.1:8787/`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers requests until the process receives SIGINT, SIGTERM or SIGHUP, then finishes the
    /// requests in progress.
    ///
    /// # Errors
    /// The structure of the store is damaged, the worker threads cannot be started, or the socket
    /// fails.
    pub fn run(self, store: Store) -> anyhow::Result<()> {
        let is_damaged = check(&store)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("the threads that answer requests cannot be started")?;
        let (storage, closed) = Storage::start(store, is_damaged)?;
        let outcome = runtime.block_on(self.answer(storage));
        runtime.shutdown_timeout(STOP_TIMEOUT);
        // An error says that it is closed.
        let _ = closed.recv_timeout(STOP_TIMEOUT);
        outcome
    }

    async fn answer(self, storage: Storage) -> anyhow::Result<()> {
        let told_to_stop = told_to_stop()?;
        let listener =
            tokio::net::TcpListener::from_std(self.listener).context("the listening socket cannot be used")?;
        let is_local = self.access.is_local(self.address);
        let news = watch::Sender::new(News::default());
        let shared = Shared {
            storage,
            bodies: BodyMemory::new(),
            parsers: Arc::new(Semaphore::new(PARSERS)),
            access: Arc::new(self.access),
            is_local,
            news: news.clone(),
        };
        let (stop, stopping) = watch::channel(false);
        let server = connections::serve(listener, router(shared), stopping);
        let mut server = std::pin::pin!(server);
        tokio::select! {
            () = server.as_mut() => return Ok(()),
            () = told_to_stop => {}
        }
        // Event streams would otherwise never end.
        news.send_modify(|news| news.stopping = true);
        stop.send_replace(true);
        // Requests in progress have until then.
        let _ = tokio::time::timeout(STOP_TIMEOUT, server).await;
        Ok(())
    }
}

/// Checks a store before it is served; returns whether samples are damaged.
///
/// # Errors
/// The structure is damaged.
fn check(store: &Store) -> anyhow::Result<bool> {
    store.check_structure()?;
    let bytes = std::fs::metadata(store.path()).map_or(0, |file| file.len());
    if bytes > CHECKED_BYTES {
        return Ok(false);
    }
    let damaged = store.check()?.damaged.len();
    if damaged > 0 {
        eprintln!(
            "foreglow: warning: {} in {} differ from what was stored, and are not served; `foreglow serve --check` lists them",
            format_count(damaged, "sample"),
            store.path().display()
        );
    }
    Ok(damaged > 0)
}

fn host(listen: SocketAddr) -> String {
    if listen.is_ipv6() { format!("[{}]", listen.ip()) } else { listen.ip().to_string() }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/api/v1/samples", get(samples::list).post(samples::accept))
        .route("/api/v1/samples/{id}", get(samples::one).delete(samples::remove))
        .route("/api/v1/events", get(events::events))
        .route("/api/v1/workloads", get(samples::workloads))
        .route("/healthz", get(health))
        .fallback(planner::file)
        .layer(axum::middleware::from_fn_with_state(shared.clone(), access::guard))
        .with_state(shared)
}

/// `GET /healthz`: whether the collector answers, and its samples are as they were stored.
async fn health(State(shared): State<Shared>) -> Response {
    match shared.storage.is_damaged() {
        false => "ok\n".into_response(),
        true => {
            let sentence = "samples in the store are damaged; `foreglow serve --check` lists them\n";
            (StatusCode::SERVICE_UNAVAILABLE, sentence).into_response()
        }
    }
}

/// Returns the error format of all API routes: `{"error":"…"}`.
fn refusal(status: StatusCode, sentence: impl std::fmt::Display) -> Response {
    (status, axum::Json(serde_json::json!({ "error": sentence.to_string() }))).into_response()
}

/// Returns a future that completes on SIGINT, SIGTERM or SIGHUP. The handlers are installed by this
/// call, not by the first poll.
fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen().context("the signal handlers of the collector cannot be installed")?;
    Ok(async move {
        signals.next().await;
    })
}
