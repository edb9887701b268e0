CREATE TABLE samples (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    engine TEXT NOT NULL,
    outcome TEXT NOT NULL,
    started_at_us INTEGER NOT NULL,
    line TEXT NOT NULL,
    run INTEGER,
    secs REAL,
    sender TEXT,
    received_at_us INTEGER NOT NULL
);
CREATE INDEX samples_by_start ON samples (started_at_us, seq, run, secs);
CREATE TABLE pending (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    collector TEXT NOT NULL,
    id TEXT NOT NULL,
    line TEXT NOT NULL,
    rejection TEXT,
    UNIQUE (collector, id)
);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    workload TEXT NOT NULL,
    configuration TEXT NOT NULL,
    sampling_rate REAL NOT NULL,
    engine TEXT NOT NULL,
    outcome TEXT NOT NULL,
    host TEXT NOT NULL,
    samples INTEGER NOT NULL DEFAULT 0,
    timed INTEGER NOT NULL DEFAULT 0,
    sum_secs REAL NOT NULL DEFAULT 0,
    least_secs REAL,
    most_secs REAL,
    job TEXT NOT NULL DEFAULT '',
    newest TEXT NOT NULL DEFAULT '',
    UNIQUE (workload, configuration, sampling_rate, engine, outcome, host)
);
CREATE INDEX runs_by_job ON runs (job);
CREATE TABLE jobs (
    job TEXT PRIMARY KEY,
    context TEXT NOT NULL,
    samples INTEGER NOT NULL DEFAULT 0,
    latest INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    roles TEXT NOT NULL,
    per_minute INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    expires_at_us INTEGER,
    last_used_at_us INTEGER
) WITHOUT ROWID;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    token BLOB NOT NULL,
    expires_at_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us INTEGER NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL
);
