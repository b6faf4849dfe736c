-- What was learned from use. A text is what a user said; it is kept so that another embedder can read it, and goes with its row.
CREATE TABLE examples (
    id    INTEGER PRIMARY KEY,
    app   TEXT    NOT NULL,
    tool  TEXT    NOT NULL, -- name
    hash  BLOB    NOT NULL, -- of the tool's content
    text  TEXT    NOT NULL,
    hits  INTEGER NOT NULL,
    fails INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    UNIQUE (app, hash, text)
) STRICT;
CREATE INDEX examples_tool ON examples (tool);
CREATE INDEX examples_last ON examples (last);

-- One unit vector of an example's text by one model; data as in vectors.
CREATE TABLE example_vectors (
    example INTEGER NOT NULL REFERENCES examples (id) ON DELETE CASCADE,
    model   TEXT    NOT NULL,
    digest  TEXT    NOT NULL,
    prefix  INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (example, model, digest, prefix)
) STRICT, WITHOUT ROWID;

-- How often a turn of an app that called one tool was followed by a turn that called another; "" before is the start of a session.
CREATE TABLE follows (
    app    TEXT    NOT NULL,
    before TEXT    NOT NULL,
    after  TEXT    NOT NULL,
    turns  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (app, before, after)
) STRICT, WITHOUT ROWID;
CREATE INDEX follows_last ON follows (last);
