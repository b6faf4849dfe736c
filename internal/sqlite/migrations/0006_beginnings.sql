-- What the conversations of an app begin with, one for each model: the app's own words alone.
CREATE TABLE beginnings (
    model TEXT    PRIMARY KEY,
    app   TEXT    NOT NULL,
    path  TEXT    NOT NULL,
    body  BLOB    NOT NULL,
    at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
