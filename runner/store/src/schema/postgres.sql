CREATE TABLE samples (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    engine TEXT NOT NULL,
    outcome TEXT NOT NULL,
    started_at_us BIGINT NOT NULL,
    line TEXT NOT NULL,
    run BIGINT,
    secs DOUBLE PRECISION,
    sender TEXT,
    received_at_us BIGINT NOT NULL
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
    most_secs DOUBLE PRECISION,
    job TEXT NOT NULL DEFAULT '',
    newest TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_by_key ON runs USING hash ((workload || configuration || host));
CREATE INDEX runs_by_job ON runs (job);
CREATE TABLE jobs (
    job TEXT PRIMARY KEY,
    context TEXT NOT NULL,
    samples BIGINT NOT NULL DEFAULT 0,
    latest BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    roles TEXT NOT NULL,
    per_minute BIGINT NOT NULL,
    created_at_us BIGINT NOT NULL,
    expires_at_us BIGINT,
    last_used_at_us BIGINT
);
CREATE TABLE sessions (
    hash BYTEA PRIMARY KEY,
    token BYTEA NOT NULL,
    expires_at_us BIGINT NOT NULL
);
CREATE TABLE audit (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_us BIGINT NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL
);
CREATE TABLE foreglow_store (version BIGINT NOT NULL);
INSERT INTO foreglow_store VALUES (0);
