-- What the daemon keeps over restarts. Times are nanoseconds since 1970, UTC.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One unit vector of one document by one model; data is dim float32 numbers, little-endian.
CREATE TABLE vectors (
    model  TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    prefix INTEGER NOT NULL,
    doc    BLOB    NOT NULL,
    dim    INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (model, digest, prefix, doc)
) STRICT;

-- Every tool ever seen, by name and content.
CREATE TABLE tools (
    name       TEXT    NOT NULL,
    hash       BLOB    NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    PRIMARY KEY (name, hash)
) STRICT, WITHOUT ROWID;

-- Every session that an app was ever seen in, whether or not its turns are still kept.
CREATE TABLE sessions (
    app        TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    PRIMARY KEY (app, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_last_seen ON sessions (last_seen);

-- One turn of a conversation: its state as JSON, and beside it the two hashes that the JSON leaves out.
CREATE TABLE turns (
    id      INTEGER PRIMARY KEY,
    key     TEXT    NOT NULL UNIQUE,
    state   TEXT    NOT NULL,
    catalog BLOB    NOT NULL,
    body    BLOB    NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_updated ON turns (updated);

-- How often a session of an app called a tool.
CREATE TABLE uses (
    app     TEXT    NOT NULL,
    session TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    calls   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (app, session, tool)
) STRICT, WITHOUT ROWID;
CREATE INDEX uses_last ON uses (last);

-- Skills. embedding is the hash under which vectors holds what each model makes of when_to_use.
CREATE TABLE procedures (
    name           TEXT    PRIMARY KEY,
    when_to_use    TEXT    NOT NULL,
    tools_required TEXT    NOT NULL, -- JSON array of names
    body           TEXT    NOT NULL,
    successes      INTEGER NOT NULL,
    attempts       INTEGER NOT NULL,
    enabled        INTEGER NOT NULL,
    version        INTEGER NOT NULL,
    embedding      BLOB    NOT NULL,
    updated        INTEGER NOT NULL
) STRICT;
