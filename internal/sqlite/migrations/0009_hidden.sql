-- What the engine did within answers that the client saw nothing of. -1: not counted, which was so until now where something was asked for.
ALTER TABLE telemetry ADD COLUMN hidden_rounds           INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_guesses          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_answers          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_prompt_tokens    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_evaluated_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_prompt_nanos     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_output_tokens    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN hidden_output_nanos     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE telemetry ADD COLUMN written                 INTEGER NOT NULL DEFAULT 0;
UPDATE telemetry SET hidden_rounds = -1 WHERE loads > 0;
