-- What requests that no tool is for come to, by one model (or several together, their names joined) for one catalog.
CREATE TABLE calibrations (
    model     TEXT    NOT NULL,
    digest    TEXT    NOT NULL,
    prefix    INTEGER NOT NULL,
    dim       INTEGER NOT NULL,
    catalog   BLOB    NOT NULL, -- hash
    tools     INTEGER NOT NULL,
    requests  INTEGER NOT NULL,
    mean      REAL    NOT NULL,
    deviation REAL    NOT NULL,
    floor     REAL    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (model, digest, prefix, dim, catalog)
) STRICT, WITHOUT ROWID;
