//! Connections: limits on their number and on the time that each may wait.
//!
//! `axum::serve` waits for a request for ever, and accepts connections until the process has no
//! file descriptors left. Here a connection must send a request in time, a client that does not
//! read is dropped, and a new connection evicts the one that was idle longest.

mod places;
mod stalled;
mod traffic;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

pub(super) use self::places::{Connection, Connections};
use self::stalled::DropStalled;
use self::traffic::{Received, Sent};
use super::log::ClientAddress;
use super::metrics::Metrics;
use super::tls::Tls;

/// Limit on the time until the head of a request is complete, from the start of the connection or
/// the end of the previous request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Limit on the bytes of a head.
const HEAD_BYTES: usize = 16 << 10;
/// Limit on connections; the limit on file descriptors may lower it.
const MOST_CONNECTIONS: u64 = 16_384;
/// File descriptors for everything else.
const OTHER_DESCRIPTORS: u64 = 128;
/// Pause after an error of the system when a connection is accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until `stopping` is true, and then finishes the requests in progress.
pub(super) async fn serve(
    listener: TcpListener,
    connections: Connections,
    router: Router,
    tls: Option<Tls>,
    metrics: Arc<Metrics>,
    mut stopping: watch::Receiver<bool>,
) {
    let connections = Arc::new(connections);
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let Ok((stream, client)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Without a free slot the connection is closed, because all others are active.
        if let Some((number, connection)) = connections.enter(client.ip(), Instant::now()) {
            let (connections, router, stopping) = (Arc::clone(&connections), router.clone(), stopping.clone());
            let (tls, metrics) = (tls.clone(), Arc::clone(&metrics));
            tasks.spawn(async move {
                metrics.connections.fetch_add(1, Ordering::Relaxed);
                // Sends small answers without delay.
                let _ = stream.set_nodelay(true);
                match encrypt(stream, tls, &connection).await {
                    Some(Stream::Plain(stream)) => {
                        answer(stream, ClientAddress(client), router, connection, stopping).await;
                    }
                    Some(Stream::Encrypted(stream)) => {
                        answer(*stream, ClientAddress(client), router, connection, stopping).await;
                    }
                    None => {}
                }
                connections.leave(number);
                metrics.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// A connection that is ready for requests.
enum Stream {
    Plain(DropStalled),
    Encrypted(Box<tokio_rustls::server::TlsStream<DropStalled>>),
}

/// Does the handshake of TLS, if the collector uses it; `None` if it fails or takes too long.
async fn encrypt(stream: TcpStream, tls: Option<Tls>, connection: &Arc<Connection>) -> Option<Stream> {
    let stream = DropStalled::new(stream, Arc::clone(connection));
    let Some(tls) = tls else { return Some(Stream::Plain(stream)) };
    let handshake = timeout(HEAD_TIMEOUT, TlsAcceptor::from(tls.config()).accept(stream));
    tokio::select! {
        encrypted = handshake => encrypted.ok()?.ok().map(|stream| Stream::Encrypted(Box::new(stream))),
        () = connection.evicted.notified() => None,
    }
}

/// Answers the requests of a connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    client: ClientAddress,
    router: Router,
    connection: Arc<Connection>,
    mut stopping: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(client);
        let connection = Arc::clone(&connection);
        let answer = router.call(request.map(|body| Received::new(body, Arc::clone(&connection))));
        async move {
            answer.await.map(|mut answer| {
                let share = answer.extensions_mut().remove();
                answer.map(|body| Sent::new(body, connection, share))
            })
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_BYTES);
    let mut answers = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            // An error ends the connection, which the client sees; it is not reported elsewhere.
            _ = answers.as_mut() => return,
            () = connection.evicted.notified() => return,
            _ = stopping.wait_for(|stopping| *stopping), if !is_stopping => {
                is_stopping = true;
                answers.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Returns the limit on connections, after raising the process's limit on file descriptors as far
/// as allowed.
#[cfg(unix)]
pub(super) fn most_connections() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = MOST_CONNECTIONS + OTHER_DESCRIPTORS;
    let wanted = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        // If the system refuses, the old limit applies.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    usize::try_from(descriptors.saturating_sub(OTHER_DESCRIPTORS).clamp(1, MOST_CONNECTIONS)).unwrap_or(1)
}

#[cfg(not(unix))]
pub(super) fn most_connections() -> usize {
    1_024
}
