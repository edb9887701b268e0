//! Tables of the store in a database.

use foreglow_exit::unusable;

use crate::Location;
use crate::failure::{Outcome, sentence};
use crate::postgres::{self, ServerTransaction, Session};
use crate::row::{Row, Value, collected};
use crate::transaction::Writes as _;

/// Version of the tables below. Stores of other versions are refused.
const VERSION: i64 = 3;

/// Hash indexes, because a workload may be longer than an entry of a B-tree; the lock of the
/// writers keeps their rows unique.
const TABLES: &str = include_str!("postgres.sql");

/// Query for the table with the version, which only a Foreglow database has.
const HAS_VERSION: &str = "SELECT to_regclass('foreglow_store') IS NOT NULL";
const READ_VERSION: &str = "SELECT version FROM foreglow_store";

/// Opens the store in the database at `url`; with `create`, missing tables are created.
pub(super) fn open(url: &str, location: &Location, create: bool) -> anyhow::Result<Session> {
    let mut session = postgres::session(url)?;
    prepare(&mut session, location, create)?;
    Ok(session)
}

/// Checks that the database is a store of this version, or creates its tables.
fn prepare(session: &mut Session, location: &Location, create: bool) -> anyhow::Result<()> {
    let failed = |failure| sentence(location, &failure);
    let found = version(|sql| query(session, sql)).map_err(failed)?;
    if found == VERSION {
        return Ok(());
    }
    if found > VERSION {
        return Err(unusable(format!(
            "the store {location} was written by a newer Foreglow (tables of version {found}, this one knows {VERSION}); use \
             that version, or another store with --store"
        )));
    }
    if found > 0 {
        return Err(unusable(format!(
            "the store {location} was written by an earlier build (tables of version {found}, this one knows {VERSION}), \
             and is not upgraded; post its samples to a new store with that build"
        )));
    }
    if !create {
        return Err(unusable(format!(
            "there is no store at {location}; `foreglow serve --store` with that URL makes one"
        )));
    }
    let is_foreign = query(session, "SELECT to_regclass('samples') IS NOT NULL OR to_regclass('runs') IS NOT NULL");
    if is_foreign.map_err(failed)? == 1 {
        return Err(unusable(format!(
            "{location} is a database of another program; make one for the store with `createdb`"
        )));
    }
    make(session).map_err(failed)
}

fn make(session: &mut Session) -> Outcome<()> {
    let transaction = Box::new(ServerTransaction::begin(session)?);
    // Another collector may have created the tables in the meantime.
    let made = version(|sql| transaction.query(sql, &[]).and_then(|rows| first(&rows))).and_then(|found| {
        if found == VERSION {
            return Ok(());
        }
        transaction.execute_batch(TABLES)?;
        transaction.execute("UPDATE foreglow_store SET version = $1", &[Value::Integer(VERSION)]).map(drop)
    });
    match made {
        Ok(()) => transaction.commit(),
        Err(failure) => {
            transaction.roll_back();
            Err(failure)
        }
    }
}

/// Returns the version of the tables; 0 without tables.
fn version(query: impl Fn(&str) -> Outcome<i64>) -> Outcome<i64> {
    if query(HAS_VERSION)? == 0 { Ok(0) } else { query(READ_VERSION) }
}

fn query(session: &Session, sql: &str) -> Outcome<i64> {
    first(&collected(|visit| session.each(sql, &[], visit))?)
}

fn first(rows: &[Row]) -> Outcome<i64> {
    rows.first().map_or(Ok(0), |row| row.integer(0))
}
