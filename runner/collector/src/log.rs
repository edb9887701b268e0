//! Access log: a line of JSON for each request.

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use axum::extract::Request;
use axum::http::StatusCode;
use foreglow_exit::{complain, unusable};
use foreglow_shared::Timestamp;

/// Limit on the queued lines; further lines are dropped, so that no request waits for the log.
const QUEUE: usize = 4_096;

/// Address of the client of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientAddress(pub(super) SocketAddr);

/// A request that is being answered.
pub(super) struct Entry {
    at: Timestamp,
    client: Option<SocketAddr>,
    /// Name of the token.
    pub(super) token: Option<String>,
    pub(super) method: String,
    pub(super) path: String,
}

impl Entry {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            at: Timestamp::now(),
            client: request.extensions().get().map(|ClientAddress(address)| *address),
            token: None,
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
        }
    }

    /// Returns the name of the token, or else the address of the client.
    pub(super) fn holder(&self) -> String {
        match (&self.token, self.client) {
            (Some(token), _) => format!("the token {token}"),
            (None, Some(client)) => client.ip().to_string(),
            (None, None) => "the client".to_owned(),
        }
    }

    fn line(&self, status: StatusCode, took: Duration) -> String {
        let line = serde_json::json!({
            "at": self.at.to_string(),
            "client": self.client.map(|client| client.ip().to_string()),
            "token": self.token,
            "method": self.method,
            "path": self.path,
            "status": status.as_u16(),
            "ms": took.as_millis(),
        });
        format!("{line}\n")
    }
}

/// Access log of a collector.
#[derive(Clone, Debug)]
pub struct AccessLog(SyncSender<String>);

impl AccessLog {
    /// Starts a log in a file, or on standard output for `-`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn start(path: &Path) -> anyhow::Result<Self> {
        open(path).map_err(|error| {
            unusable(format!("the access log {} cannot be written ({error}); name another file", path.display()))
        })?;
        let (lines, written) = sync_channel(QUEUE);
        let path = path.to_owned();
        std::thread::Builder::new()
            .name("access log".into())
            .spawn(move || write(&path, &written))
            .context("the thread that writes the access log cannot be started")?;
        Ok(Self(lines))
    }

    pub(super) fn add(&self, entry: &Entry, status: StatusCode, took: Duration) {
        // A full queue loses the line.
        let _ = self.0.try_send(entry.line(status, took));
    }
}

/// Opens the log; a new one can only be read by its owner, because it names users and addresses.
fn open(path: &Path) -> std::io::Result<Option<File>> {
    if path == Path::new("-") {
        return Ok(None);
    }
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(Some)
}

/// Writes the queued lines at once. It reopens the file each time, so that log rotation works.
fn write(path: &Path, lines: &Receiver<String>) {
    while let Ok(mut text) = lines.recv() {
        text.extend(lines.try_iter());
        let written = open(path).and_then(|file| match file {
            Some(mut file) => file.write_all(text.as_bytes()),
            None => std::io::stdout().lock().write_all(text.as_bytes()),
        });
        if let Err(error) = written {
            complain(&format!("foreglow: the access log {} was not written: {error}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_line_names_the_token_and_not_its_secret() {
        let request = Request::builder().uri("/api/v1/samples?limit=1").header("authorization", "Bearer secret");
        let mut entry = Entry::of(&request.body(Body::empty()).unwrap());
        entry.token = Some("anna".into());
        let line = entry.line(StatusCode::OK, Duration::from_millis(3));
        assert!(line.ends_with(
            "\"token\":\"anna\",\"method\":\"GET\",\"path\":\"/api/v1/samples\",\"status\":200,\"ms\":3}\n"
        ));
        assert!(!line.contains("secret"));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_a_new_log() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        drop(AccessLog::start(&path).unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_was_moved_away_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let log = AccessLog::start(&path).unwrap();
        let add = || {
            let request = Request::builder().uri("/").body(Body::empty()).unwrap();
            log.add(&Entry::of(&request), StatusCode::OK, Duration::ZERO);
            for _ in 0..500 {
                if std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("the line was not written");
        };
        add();
        std::fs::rename(&path, folder.path().join("old.log")).unwrap();
        add();
        assert!(AccessLog::start(&folder.path().join("missing").join("access.log")).is_err());
    }
}
