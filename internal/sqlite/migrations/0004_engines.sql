-- What is known of a model on an engine. model is a fingerprint of its weights, template and parameters.
CREATE TABLE engine_facts (
    engine             TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    placement          INTEGER NOT NULL,
    drops_after_result INTEGER NOT NULL,
    tools_first        INTEGER NOT NULL,
    system_last        INTEGER NOT NULL,
    sliding            INTEGER NOT NULL,
    window             INTEGER NOT NULL,
    context            INTEGER NOT NULL,
    max_context        INTEGER NOT NULL,
    grammar_bytes      INTEGER NOT NULL,
    weights            TEXT    NOT NULL,
    takes_tools        INTEGER, -- NULL where unknown
    strategy           TEXT    NOT NULL, -- '' before it was measured
    measured           INTEGER NOT NULL,
    at                 INTEGER NOT NULL, -- when it was stored
    PRIMARY KEY (engine, model)
) STRICT, WITHOUT ROWID;
