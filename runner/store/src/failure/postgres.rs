//! Failures of a PostgreSQL server, and the user messages for them, with advice.

use foreglow_exit::{Damaged, unusable};
use tokio_postgres::error::SqlState;

use super::{Failure, Unavailable};
use crate::Location;

/// Failure of a server operation.
#[derive(Debug)]
pub(crate) enum ServerFailure {
    /// The server's answer, or the loss of the connection.
    Server(tokio_postgres::Error),
    /// No connection.
    Unreachable(String),
    /// No answer in time.
    Silent,
}

impl ServerFailure {
    /// Whether the connection is lost.
    pub(crate) fn is_disconnected(&self) -> bool {
        match self {
            // Errors reported by the server are answers, except when the server is stopping.
            Self::Server(error) => error.as_db_error().is_none_or(|_| is_stopping(error.code())),
            Self::Unreachable(_) | Self::Silent => true,
        }
    }
}

fn is_stopping(code: Option<&SqlState>) -> bool {
    const STATES: [&SqlState; 4] = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    code.is_some_and(|code| STATES.contains(&code))
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(ServerFailure::Server(error))
    }
}

/// Returns the message for a failure of the store at `location`.
pub(crate) fn sentence(location: &Location, failure: &ServerFailure) -> anyhow::Error {
    let unavailable = |sentence: String| anyhow::Error::new(Unavailable(sentence));
    let error = match failure {
        ServerFailure::Server(error) => error,
        ServerFailure::Unreachable(reason) => {
            return unavailable(format!(
                "the database {location} cannot be reached ({reason}), and nothing was stored; start it, or check its \
                 address"
            ));
        }
        ServerFailure::Silent => {
            return unavailable(format!(
                "the database {location} has not answered in time, and whether it stored anything is unknown; try again"
            ));
        }
    };
    let Some(answer) = error.as_db_error() else {
        return unavailable(format!(
            "the connection to the database {location} is lost ({}), and whether it stored anything is unknown; try \
             again",
            cause(error)
        ));
    };
    let said = answer.message();
    let code = answer.code();
    if is_stopping(Some(code)) {
        unavailable(format!("the database {location} is stopping or starting ({said}); try again"))
    } else if *code == SqlState::DISK_FULL {
        anyhow::anyhow!("the disk of the database {location} is full, and nothing was stored; free some space there")
    } else if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
        anyhow::Error::new(Damaged(format!("the database {location} is damaged ({said}); restore it from a copy")))
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        unavailable(format!("the database {location} is read-only, such as a standby; name the one that is written"))
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        unavailable(format!("another program has held the store {location} for too long; end it and try again"))
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        unavailable(format!("the database {location} has no free connection; raise its max_connections"))
    } else if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        unusable(format!(
            "the database {location} refuses this user ({said}); check the user, PGPASSWORD and pg_hba.conf"
        ))
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        unusable(format!("{said} at {location}; make it with `createdb`"))
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        unusable(format!(
            "this user of the database {location} lacks a right ({said}); make it the owner of the database"
        ))
    } else {
        anyhow::anyhow!("the database {location} failed: {said}")
    }
}

/// Returns an error with its cause, because the crate's message omits the source.
pub(crate) fn cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
