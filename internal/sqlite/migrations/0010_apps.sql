-- What a person can tell an app's opaque id by. tools is a JSON array of the names that the app's first request began with.
CREATE TABLE apps (
    app    TEXT    PRIMARY KEY,
    family TEXT    NOT NULL,
    agent  TEXT    NOT NULL,
    tools  TEXT    NOT NULL,
    seen   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
