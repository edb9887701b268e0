//! Tables of the store in a database.

use foreglow_exit::unusable;

use crate::store::Location;
use crate::store::database::Transaction;
use crate::store::failure::{Outcome, sentence};
use crate::store::jobs::add_to_old_runs;
use crate::store::postgres::{self, Session, Writing};
use crate::store::row::{Row, Value};

/// Migration steps by version. A change of the tables adds a step, which an existing store runs
/// when it is opened.
const STEPS: [&str; 2] = [VERSION_1, VERSION_2];

/// The tables of version 4 of an SQLite store. Hash indexes, because a workload may be longer than
/// an entry of a B-tree; the lock of the writers keeps their rows unique.
const VERSION_1: &str = "
    CREATE TABLE samples (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        mode TEXT NOT NULL,
        engine TEXT NOT NULL,
        outcome TEXT NOT NULL,
        started_at_us BIGINT NOT NULL,
        line TEXT NOT NULL,
        checksum BIGINT NOT NULL,
        run BIGINT,
        secs DOUBLE PRECISION
    );
    CREATE INDEX samples_by_start ON samples (started_at_us);
    CREATE INDEX samples_by_run ON samples (run, secs);
    CREATE TABLE pending (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collector TEXT NOT NULL,
        id TEXT NOT NULL,
        line TEXT NOT NULL,
        rejection TEXT,
        UNIQUE (collector, id)
    );
    CREATE TABLE workloads (workload TEXT NOT NULL, samples BIGINT NOT NULL);
    CREATE INDEX workloads_by_workload ON workloads USING hash (workload);
    CREATE TABLE runs (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        model TEXT NOT NULL,
        workload TEXT NOT NULL,
        configuration TEXT NOT NULL,
        sampling_rate DOUBLE PRECISION NOT NULL,
        engine TEXT NOT NULL,
        outcome TEXT NOT NULL,
        host TEXT NOT NULL,
        samples BIGINT NOT NULL DEFAULT 0,
        timed BIGINT NOT NULL DEFAULT 0,
        sum_secs DOUBLE PRECISION NOT NULL DEFAULT 0,
        least_secs DOUBLE PRECISION,
        most_secs DOUBLE PRECISION
    );
    CREATE INDEX runs_by_key ON runs USING hash ((workload || configuration || host));
    CREATE TABLE tokens (
        name TEXT PRIMARY KEY,
        hash BYTEA NOT NULL UNIQUE,
        roles TEXT NOT NULL,
        per_minute BIGINT NOT NULL,
        created_at_us BIGINT NOT NULL,
        expires_at_us BIGINT,
        last_used_at_us BIGINT
    );
    CREATE TABLE audit (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at_us BIGINT NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL
    );
    CREATE TABLE foreglow_store (version BIGINT NOT NULL);
    INSERT INTO foreglow_store VALUES (0);";

/// Adds the jobs, from which workloads are counted, and the newest samples of each run.
const VERSION_2: &str = "
    CREATE TABLE jobs (
        job TEXT PRIMARY KEY,
        context TEXT NOT NULL,
        samples BIGINT NOT NULL DEFAULT 0,
        latest BIGINT NOT NULL DEFAULT 0
    );
    ALTER TABLE runs ADD COLUMN job TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN newest TEXT NOT NULL DEFAULT '';
    CREATE INDEX runs_by_job ON runs (job);
    DROP TABLE workloads;";

/// Query for the table with the version, which only a Foreglow database has.
const HAS_VERSION: &str = "SELECT to_regclass('foreglow_store') IS NOT NULL";
const VERSION: &str = "SELECT version FROM foreglow_store";

/// Opens the store in the database at `url`, and upgrades its tables; with `create`, missing ones
/// are created.
pub(super) fn open(url: &str, location: &Location, create: bool) -> anyhow::Result<Session> {
    let mut session = postgres::session(url)?;
    prepare(&mut session, location, create)?;
    Ok(session)
}

/// Checks that the database is a store of this version, or creates or upgrades its tables.
fn prepare(session: &mut Session, location: &Location, create: bool) -> anyhow::Result<()> {
    let failed = |failure| sentence(location, &failure);
    let found = version(|sql| query(session, sql)).map_err(failed)?;
    if found == STEPS.len() {
        return Ok(());
    }
    if found > STEPS.len() {
        return Err(unusable(format!(
            "the store {location} was written by a newer Foreglow (tables of version {found}, this one knows {}); use \
             that version, or another store with --store",
            STEPS.len()
        )));
    }
    if found == 0 && !create {
        return Err(unusable(format!(
            "there is no store at {location}; `foreglow serve --store` with that URL makes one"
        )));
    }
    let is_foreign = query(session, "SELECT to_regclass('samples') IS NOT NULL OR to_regclass('runs') IS NOT NULL");
    if found == 0 && is_foreign.map_err(failed)? == 1 {
        return Err(unusable(format!(
            "{location} is a database of another program; make one for the store with `createdb`"
        )));
    }
    upgrade(session).map_err(failed)
}

fn upgrade(session: &mut Session) -> Outcome<()> {
    let transaction = Transaction::Server(Writing::begin(session)?);
    // Another collector may have upgraded the store in the meantime.
    let steps = version(|sql| transaction.query(sql, &[]).and_then(|rows| first(&rows))).and_then(|found| {
        STEPS.iter().skip(found).try_for_each(|step| transaction.execute_batch(step))?;
        if found == 1 {
            add_to_old_runs(&transaction)?;
        }
        let update = "UPDATE foreglow_store SET version = $1";
        transaction.execute(update, &[Value::Integer(i64::try_from(STEPS.len()).unwrap_or(i64::MAX))])
    });
    match steps {
        Ok(_) => transaction.commit(),
        Err(failure) => {
            transaction.roll_back();
            Err(failure)
        }
    }
}

/// Returns the version of the tables; 0 without tables.
fn version(query: impl Fn(&str) -> Outcome<i64>) -> Outcome<usize> {
    if query(HAS_VERSION)? == 0 {
        return Ok(0);
    }
    Ok(usize::try_from(query(VERSION)?).unwrap_or(0))
}

fn query(session: &Session, sql: &str) -> Outcome<i64> {
    let mut rows = Vec::new();
    session.each(sql, &[], &mut |row| {
        rows.push(row);
        Ok(true)
    })?;
    first(&rows)
}

fn first(rows: &[Row]) -> Outcome<i64> {
    rows.first().map_or(Ok(0), |row| row.integer(0))
}
