//! The collector: receives timing samples over HTTP, serves them, and serves the planner embedded
//! in the binary.

mod access;
pub mod address;
mod events;
mod planner;
mod samples;
pub mod store;
pub mod upload;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use foreglow_exit::{Signals, unusable};
use tokio::sync::watch;

pub use self::access::Access;
use self::events::News;
pub use self::samples::{Receipt, Rejection};
use crate::store::Store;

/// Maximum size of a request body.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Grace period for requests in progress when the collector stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// State shared by all requests.
#[derive(Clone)]
struct Shared {
    store: Arc<Mutex<Store>>,
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
    /// The worker threads cannot be started, or the socket fails.
    pub fn run(self, store: Store) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("the threads that answer requests cannot be started")?;
        let outcome = runtime.block_on(self.answer(store));
        runtime.shutdown_timeout(STOP_TIMEOUT);
        outcome
    }

    async fn answer(self, store: Store) -> anyhow::Result<()> {
        let told_to_stop = told_to_stop()?;
        let listener =
            tokio::net::TcpListener::from_std(self.listener).context("the listening socket cannot be used")?;
        let is_local = self.access.is_local(self.address);
        let news = watch::Sender::new(News::default());
        let shared =
            Shared { store: Arc::new(Mutex::new(store)), access: Arc::new(self.access), is_local, news: news.clone() };
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let server = axum::serve(listener, router(shared)).with_graceful_shutdown(async move {
            told_to_stop.await;
            // Event streams would otherwise never end.
            news.send_modify(|news| news.stopping = true);
            // The receiver is gone if the server has ended by itself.
            let _ = stopping.send(());
        });
        tokio::select! {
            ended = async { server.await } => ended.context("the collector's socket failed"),
            () = async {
                let _ = stopped.await;
                tokio::time::sleep(STOP_TIMEOUT).await;
            } => Ok(()),
        }
    }
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
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(planner::file)
        .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(shared.clone(), access::guard))
        .with_state(shared)
}

impl Shared {
    /// Runs `work` with the store on a thread that may block.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let store = Arc::clone(&self.store);
        tokio::task::spawn_blocking(move || {
            // A request that panicked has rolled its transaction back, so the store is consistent.
            let mut store: MutexGuard<'_, Store> = store.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut store)
        })
        .await
        .context("the store's thread ended early")?
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
