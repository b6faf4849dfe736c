-- What was learned of jobs: runs, and what synthesis makes of them.

-- One run: what a user asked for and what was called for it. goal is what the user said; calls is a JSON array of [name, argument name, …],
-- skills one of names. ended is the smallest number while the run goes on.
CREATE TABLE runs (
    id      INTEGER PRIMARY KEY,
    key     TEXT    NOT NULL UNIQUE, -- of the turn that began it
    app     TEXT    NOT NULL,
    session TEXT    NOT NULL,
    goal    TEXT    NOT NULL,
    calls   TEXT    NOT NULL,
    steps   INTEGER NOT NULL, -- number of calls
    outcome TEXT    NOT NULL, -- open, succeeded or failed
    why     TEXT    NOT NULL,
    skills  TEXT    NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_started ON runs (started);
CREATE INDEX runs_session ON runs (session);

ALTER TABLE procedures ADD COLUMN tool_sequence TEXT NOT NULL DEFAULT 'null'; -- JSON array of names
ALTER TABLE procedures ADD COLUMN examples      TEXT NOT NULL DEFAULT 'null'; -- JSON array of texts
ALTER TABLE procedures ADD COLUMN not_for       TEXT NOT NULL DEFAULT 'null'; -- likewise
ALTER TABLE procedures ADD COLUMN origin        TEXT NOT NULL DEFAULT '{}';   -- JSON object
ALTER TABLE procedures ADD COLUMN unused        INTEGER NOT NULL DEFAULT 0;
ALTER TABLE procedures ADD COLUMN last_used     INTEGER NOT NULL DEFAULT -9223372036854775808;
ALTER TABLE procedures ADD COLUMN superseded_by TEXT NOT NULL DEFAULT '';
ALTER TABLE procedures ADD COLUMN note          TEXT NOT NULL DEFAULT '';

-- Former versions of procedures, each whole, as JSON.
CREATE TABLE procedure_versions (
    name     TEXT    NOT NULL REFERENCES procedures (name) ON DELETE CASCADE,
    version  INTEGER NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- Learned procedures that a user removed: they are not learned again.
CREATE TABLE removals (
    name  TEXT    PRIMARY KEY,
    tools TEXT    NOT NULL, -- JSON array of names, sorted
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
