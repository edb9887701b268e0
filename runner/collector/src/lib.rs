//! The collector: receives timing samples over HTTP, serves them, and serves the planner embedded
//! in the binary.

mod access;
pub mod address;
mod answers;
mod body;
mod connections;
mod damage;
mod damage_checks;
mod events;
mod followed;
mod health;
mod jobs;
mod lists;
mod log;
mod metrics;
mod planner;
mod readiness;
mod runs;
mod samples;
mod storage;
mod tls;
mod upkeep;
pub mod upload;
mod workloads;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use foreglow_exit::{Damaged, Signals, UnusableInput, unusable};
use tokio::sync::{Semaphore, watch};

pub use self::access::Access;
use self::access::{Gate, Shares, sign_in};
use self::answers::AnswerMemory;
use self::body::BodyMemory;
use self::connections::Connections;
use self::events::{Events, StoreChanges};
pub use self::followed::FollowedJob;
use self::followed::FollowedJobs;
pub use self::log::AccessLog;
use self::metrics::Metrics;
pub use self::samples::{Receipt, Rejection};
use self::storage::Storage;
pub use self::tls::Tls;
use foreglow_store::{Location, Store, Unavailable};

/// Route of the event streams.
const EVENTS: &str = "/api/v1/events";
/// Maximum size of a request body.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Grace period for requests in progress when the collector stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before a sender should retry a failed request, seconds.
const RETRY_AFTER_SECS: HeaderValue = HeaderValue::from_static("1");
/// Bodies that are parsed at the same time, each on a thread of its own.
const PARSERS: usize = 2;
/// Threads for blocking work. Few, because each thread keeps the memory that it once used.
const BLOCKING_THREADS: usize = 16;

/// State shared by all requests.
#[derive(Clone)]
struct Shared {
    storage: Storage,
    bodies: BodyMemory,
    answers: AnswerMemory,
    /// Bodies that are parsed at the same time.
    parsers: Arc<Semaphore>,
    gate: Arc<Gate>,
    shares: Arc<Shares>,
    changes: watch::Sender<StoreChanges>,
    events: Events,
    followed: FollowedJobs,
    metrics: Arc<Metrics>,
    log: Option<AccessLog>,
    /// Path of the store, if it is a file.
    store: Option<Arc<Path>>,
    version: Arc<str>,
    is_tls: bool,
    /// Age at which samples are removed.
    keep: Option<Duration>,
    /// Whether other sites may pass samples to the planner.
    hand_over: bool,
}

/// Optional parts of a collector.
#[derive(Debug, Default)]
pub struct Options {
    /// Version that the collector reports.
    pub version: String,
    /// TLS; `None` for HTTP.
    pub tls: Option<Tls>,
    /// Log of all requests.
    pub log: Option<AccessLog>,
    /// Age at which samples are removed.
    pub keep: Option<Duration>,
    /// Whether pages of other sites may open the planner and pass samples to it.
    pub hand_over: bool,
}

/// A bound address, on which [`Collector::run`] answers.
#[derive(Debug)]
pub struct Collector {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
    options: Options,
}

impl Collector {
    /// Binds the address; from then on, connections wait for [`Collector::run`].
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
        Ok(Self { listener, address, access, options: Options::default() })
    }

    /// Returns the collector with these options.
    pub fn with(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Returns the URL of the planner, such as `http://127.0.0.1:8787/`.
    pub fn url(&self) -> String {
        let scheme = if self.options.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Answers requests until the process receives SIGINT, SIGTERM or SIGHUP, then finishes the
    /// requests in progress.
    ///
    /// # Errors
    /// The structure of the store is damaged, the worker threads cannot be started, or the socket
    /// fails.
    pub fn run(self, store: Store) -> anyhow::Result<()> {
        store.check_structure()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()
            .context("the threads that answer requests cannot be started")?;
        let gate = Gate::new(&self.access, self.address, store.reader()?);
        let location = store.location().clone();
        let (storage, closed) = Storage::start(store)?;
        let outcome = runtime.block_on(self.answer(storage, gate, location));
        runtime.shutdown_timeout(STOP_TIMEOUT);
        // An error means that the channel is closed.
        let _ = closed.recv_timeout(STOP_TIMEOUT);
        outcome
    }

    async fn answer(self, storage: Storage, gate: Gate, location: Location) -> anyhow::Result<()> {
        let told_to_stop = told_to_stop()?;
        let listener =
            tokio::net::TcpListener::from_std(self.listener).context("the listening socket cannot be used")?;
        let Options { version, tls, log, keep, hand_over } = self.options;
        let most_connections = connections::most_connections();
        let shared = Shared {
            storage,
            bodies: BodyMemory::new(),
            answers: AnswerMemory::new(),
            parsers: Arc::new(Semaphore::new(PARSERS)),
            gate: Arc::new(gate),
            shares: Arc::new(Shares::new(most_connections)),
            changes: watch::Sender::new(StoreChanges::default()),
            events: Events::new(),
            followed: FollowedJobs::default(),
            metrics: Arc::new(Metrics::default()),
            log,
            store: location.file().map(Arc::from),
            version: version.into(),
            is_tls: tls.is_some(),
            keep,
            hand_over,
        };
        let changes = shared.changes.clone();
        let checks = tokio::spawn(damage_checks::keep_looking(shared.storage.clone()));
        let others =
            tokio::spawn(foreglow_store::follow(location, move || changes.send_modify(|changes| changes.posted += 1)));
        let events = tokio::spawn(shared.events.clone().read(shared.storage.clone(), shared.changes.subscribe()));
        let upkeep = tokio::spawn(upkeep::keep_up(shared.clone(), tls.clone()));
        let (stop, stopping) = watch::channel(false);
        let open = Connections::new(most_connections);
        let server =
            connections::serve(listener, open, router(shared.clone()), tls, Arc::clone(&shared.metrics), stopping);
        let mut server = std::pin::pin!(server);
        tokio::select! {
            () = server.as_mut() => return Ok(()),
            () = told_to_stop => {}
        }
        // Event streams would otherwise never end.
        shared.changes.send_modify(|changes| changes.stopping = true);
        stop.send_replace(true);
        // Grace period for requests in progress.
        let _ = tokio::time::timeout(STOP_TIMEOUT, server).await;
        for task in [others, checks, events, upkeep] {
            task.abort();
        }
        upkeep::mark_used(&shared).await;
        Ok(())
    }
}

fn host(listen: SocketAddr) -> String {
    if listen.is_ipv6() { format!("[{}]", listen.ip()) } else { listen.ip().to_string() }
}

fn router(shared: Shared) -> Router {
    Router::new()
        .route("/api/v1/samples", get(samples::list).post(samples::accept))
        .route("/api/v1/samples/{id}", get(samples::one).delete(samples::remove))
        .route(EVENTS, get(events::events))
        .route("/api/v1/workloads", get(workloads::list))
        .route("/api/v1/jobs", get(jobs::list))
        .route("/api/v1/jobs/{job}", get(jobs::one))
        .route("/api/v1/runs", get(runs::list))
        .route("/api/v1/running", get(followed::list).post(followed::tell))
        .route("/healthz", get(health::health))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/metrics", get(health::metrics))
        .route("/", get(planner::file).post(sign_in::enter))
        .route("/sign-out", get(sign_in::ask_to_leave).post(sign_in::leave))
        .fallback(planner::file)
        .method_not_allowed_fallback(planner::file)
        .layer(axum::middleware::from_fn_with_state(shared.clone(), access::guard))
        .with_state(shared)
}

/// Returns the error format of all API routes: `{"error":"…"}`. A temporary failure has a retry
/// delay.
fn refusal(status: StatusCode, sentence: impl std::fmt::Display) -> Response {
    let mut refused = (status, axum::Json(serde_json::json!({ "error": sentence.to_string() }))).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        refused.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_SECS);
    }
    refused
}

/// The answer of a route: a refusal is an error, so that `?` returns it.
type Answer = Result<Response, Refused>;

/// A refused request.
struct Refused(Box<Response>);

impl From<Response> for Refused {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl From<Box<Response>> for Refused {
    fn from(response: Box<Response>) -> Self {
        Self(response)
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        failure(&error).into()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// Returns the answer to a request that the store could not serve.
fn failure(error: &anyhow::Error) -> Response {
    let status = if error.is::<UnusableInput>() {
        StatusCode::BAD_REQUEST
    } else if error.is::<Unavailable>() || error.is::<Damaged>() {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    refusal(status, format!("{error:#}"))
}

/// Returns a future that completes on SIGINT, SIGTERM or SIGHUP. The handlers are installed by this
/// call, not by the first poll.
fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen().context("the signal handlers of the collector cannot be installed")?;
    Ok(async move {
        signals.next().await;
    })
}

#[cfg(test)]
#[path = "../../store/src/fixture.rs"]
mod fixture;
