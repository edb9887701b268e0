//! A connection to a server that reconnects after a loss.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::TryStreamExt as _;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Statement};

use super::address::Address;
use super::values::{Parameter, values};
use crate::failure::postgres::{ServerFailure, cause};
use crate::failure::{Failure, Outcome};
use crate::row::{Row, Value};

/// Time limit for the answer to a query, or for the next row.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without a new attempt after a failed connection.
const PAUSE: Duration = Duration::from_secs(1);
/// Settings of a session. Acknowledged samples must be on the server's disk, whatever its default.
/// The lock of a vanished writer must be released.
const SET_UP: &str = "SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off';
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = error;";

/// A connection with its own single-threaded runtime, which runs while a query waits.
#[derive(Debug)]
pub(crate) struct Session {
    address: Address,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    connected: RefCell<Option<Connected>>,
    /// The last failure to connect.
    failed: RefCell<Option<(Instant, String)>>,
    has_row: Cell<bool>,
    /// Whether a transaction is open. Another connection would not be part of it.
    is_writing: Cell<bool>,
}

#[derive(Debug)]
pub(super) struct Connected {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl Session {
    /// Prepares a session; the first query connects.
    pub(super) fn new(address: Address) -> anyhow::Result<Self> {
        let runtime = runtime().context("the connection to the database cannot be set up")?;
        Ok(Self::with(address, runtime))
    }

    /// Returns a new session with the same database.
    pub(crate) fn another(&self) -> Outcome<Self> {
        let runtime = runtime().map_err(|error| unreachable(error.to_string()))?;
        Ok(Self::with(self.address.clone(), runtime))
    }

    fn with(address: Address, runtime: Runtime) -> Self {
        Self {
            address,
            runtime: Some(runtime),
            connected: RefCell::default(),
            failed: RefCell::default(),
            has_row: Cell::default(),
            is_writing: Cell::default(),
        }
    }

    /// Visits the rows of an answer. If the connection is lost before the first row, the query is
    /// sent once more.
    pub(crate) fn each(
        &self,
        sql: &str,
        parameters: &[Value],
        visit: &mut dyn FnMut(Row) -> Outcome<bool>,
    ) -> Outcome<()> {
        let outcome = self.each_once(sql, parameters, visit);
        match outcome {
            Err(failure) if is_disconnected(&failure) && !self.has_row.get() => self.each_once(sql, parameters, visit),
            outcome => outcome,
        }
    }

    /// Visits the rows of an answer, in a transaction or not.
    pub(super) fn each_once(
        &self,
        sql: &str,
        parameters: &[Value],
        visit: &mut dyn FnMut(Row) -> Outcome<bool>,
    ) -> Outcome<()> {
        self.has_row.set(false);
        self.with_client(|connected| {
            let statement = self.prepared(connected, sql)?;
            let parameters: Vec<Parameter<'_>> = parameters.iter().map(Parameter).collect();
            let rows = self.wait(connected.client.query_raw(&statement, &parameters))?;
            let mut rows = pin!(rows);
            while let Some(row) = self.wait(rows.try_next())? {
                self.has_row.set(true);
                if !visit(Row(values(&row)?))? {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Makes a change, and returns the number of rows.
    pub(super) fn execute(&self, sql: &str, parameters: &[Value]) -> Outcome<usize> {
        self.with_client(|connected| {
            let statement = self.prepared(connected, sql)?;
            let parameters: Vec<Parameter<'_>> = parameters.iter().map(Parameter).collect();
            let changed = self.wait(connected.client.execute_raw(&statement, &parameters))?;
            Ok(usize::try_from(changed).unwrap_or(usize::MAX))
        })
    }

    /// Runs several statements without parameters.
    pub(super) fn execute_batch(&self, sql: &str) -> Outcome<()> {
        self.with_client(|connected| self.wait(connected.client.batch_execute(sql)))
    }

    /// Notes whether a transaction is open.
    pub(super) fn set_writing(&self, is_writing: bool) {
        self.is_writing.set(is_writing);
    }

    /// Runs `work` with the connection, after connecting if necessary. A failed connection is
    /// closed.
    pub(super) fn with_client<T>(&self, work: impl FnOnce(&mut Connected) -> Outcome<T>) -> Outcome<T> {
        let mut connected = self.connect()?;
        let outcome = connected.as_mut().map_or_else(|| Err(unreachable(String::new())), work);
        if outcome.as_ref().is_err_and(is_disconnected) {
            *connected = None;
        }
        outcome
    }

    /// Waits for an answer.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Outcome<T> {
        let Some(runtime) = &self.runtime else { return Err(unreachable(String::new())) };
        let answered = runtime.block_on(async { tokio::time::timeout(ANSWER_TIMEOUT, answer).await });
        Ok(answered.map_err(|_| Failure::Postgres(ServerFailure::Silent))??)
    }

    /// Returns the prepared statement of a query, which the server parses only once.
    pub(super) fn prepared(&self, connected: &mut Connected, sql: &str) -> Outcome<Statement> {
        if let Some(statement) = connected.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(connected.client.prepare(sql))?;
        connected.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn connect(&self) -> Outcome<RefMut<'_, Option<Connected>>> {
        let mut connected = self.connected.borrow_mut();
        if connected.as_ref().is_none_or(|connected| connected.client.is_closed()) {
            *connected = None;
            if self.is_writing.get() {
                return Err(unreachable("the connection was lost".to_owned()));
            }
            let mut failed = self.failed.borrow_mut();
            // Otherwise each waiting request would wait for its own timeout.
            if let Some((_, reason)) = failed.as_ref().filter(|(at, _)| at.elapsed() < PAUSE) {
                return Err(unreachable(reason.clone()));
            }
            match self.new_connection() {
                Ok(new) => (*connected, *failed) = (Some(new), None),
                Err(failure) => {
                    if let Failure::Postgres(ServerFailure::Unreachable(reason)) = &failure {
                        *failed = Some((Instant::now(), reason.clone()));
                    }
                    return Err(failure);
                }
            }
        }
        Ok(connected)
    }

    fn new_connection(&self) -> Outcome<Connected> {
        let client = self.wait(async {
            let (client, connection) = self.address.connect().await?;
            // The waiting query reports the error of the connection.
            drop(tokio::spawn(async { drop(connection.await) }));
            client.batch_execute(SET_UP).await?;
            Ok(client)
        });
        let client = client.map_err(|failure| match failure {
            Failure::Postgres(ServerFailure::Server(error)) if error.as_db_error().is_none() => {
                unreachable(cause(&error))
            }
            Failure::Postgres(ServerFailure::Silent) => unreachable("it does not answer".to_owned()),
            failure => failure,
        })?;
        Ok(Connected { client, statements: HashMap::new() })
    }
}

impl Connected {
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Session {
    /// Shuts the runtime down in the background, because waiting for its threads would block other
    /// requests.
    fn drop(&mut self) {
        self.connected.take();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn unreachable(reason: String) -> Failure {
    Failure::Postgres(ServerFailure::Unreachable(reason))
}

pub(super) fn is_disconnected(failure: &Failure) -> bool {
    matches!(failure, Failure::Postgres(failure) if failure.is_disconnected())
}
