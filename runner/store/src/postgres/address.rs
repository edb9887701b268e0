//! URL of a database.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use foreglow_exit::unusable;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Connection, Socket};

use super::tls::{Stream, Tls};
use crate::failure::postgres::cause;

/// Time limit for a connection to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a server that vanished from the network counts as lost.
const VANISHED: Duration = Duration::from_secs(20);
/// Folder of the socket on Debian, Fedora and others.
const SOCKET_FOLDER: &str = "/var/run/postgresql";

/// Parsed address of a database.
#[derive(Clone, Debug)]
pub(super) struct Address {
    config: Config,
    tls: Tls,
}

impl Address {
    /// Reads a URL in the form of PostgreSQL's own programs. `sslmode` is `disable`, `require` or
    /// `verify-full`. The last two are equivalent, because TLS without a check of the certificate
    /// does not protect. The default is TLS, except on this machine.
    pub(super) fn parse(url: &str) -> anyhow::Result<Self> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut root, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => root = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        let mut config: Config = format!("{place}?{}", rest.join("&"))
            .parse()
            .map_err(|error| unusable(format!("that is no URL of a PostgreSQL database ({})", cause(&error))))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host_path(SOCKET_FOLDER);
        }
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.into_encoded_bytes());
        }
        let is_encrypted = match mode {
            None => !is_here(&config),
            Some("disable") => false,
            Some("require" | "verify-full") => true,
            Some(other) => {
                return Err(unusable(format!(
                    "sslmode={other} would accept any server; write sslmode=verify-full, with sslrootcert=FILE for an \
                     authority of your own, or sslmode=disable"
                )));
            }
        };
        config
            .ssl_mode(if is_encrypted { SslMode::Require } else { SslMode::Disable })
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(VANISHED)
            .keepalives_idle(VANISHED)
            .application_name("foreglow");
        Ok(Self { config, tls: Tls::new(root.as_deref())? })
    }

    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, Stream>), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }
}

/// Whether all places of the server are on this machine. `hostaddr` overrides the host name.
fn is_here(config: &Config) -> bool {
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        Address::parse(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn other_machines_are_reached_with_tls_unless_the_url_says_otherwise() {
        assert_eq!(mode("postgres://anna@db.example.org/team"), SslMode::Require);
        assert_eq!(mode("postgres://anna@db.example.org/team?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://anna@127.0.0.1/team"), SslMode::Disable);
        assert_eq!(mode("postgres://anna@localhost/team?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://anna:pw@/team?hostaddr=10.0.0.5"), SslMode::Require);
        assert_eq!(mode("postgres://anna:pw@localhost/team?hostaddr=10.0.0.5"), SslMode::Require);
        assert_eq!(mode("postgres://anna:pw@/team?hostaddr=127.0.0.1,10.0.0.5"), SslMode::Require);
        assert_eq!(mode("postgres://anna:pw@/team?hostaddr=127.0.0.1"), SslMode::Disable);
        assert_eq!(mode("postgres:///team?user=anna"), SslMode::Disable);
        assert_eq!(mode("postgres://anna@%2Ftmp%2Fsocket/team"), SslMode::Disable);
    }

    #[test]
    fn a_url_that_protects_nothing_or_is_wrong_is_refused_with_the_reason() {
        for (url, reason) in [
            ("postgres://host/team?sslmode=prefer", "would accept any server"),
            ("postgres://host/team?sslmode=verify-ca", "would accept any server"),
            ("postgres://host/team?colour=red", "unknown option `colour`"),
            ("postgres://host:x/team", "no URL of a PostgreSQL database"),
            ("postgres://host/team?sslrootcert=/missing.pem", "/missing.pem"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }
}
