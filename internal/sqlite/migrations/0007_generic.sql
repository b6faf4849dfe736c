-- What requests about a catalog's own subjects come to stands beside what unrelated ones do. What was measured before is measured again.
DELETE FROM calibrations;
ALTER TABLE calibrations ADD COLUMN generic INTEGER NOT NULL DEFAULT 0; -- number of requests
ALTER TABLE calibrations ADD COLUMN ceiling REAL    NOT NULL DEFAULT 0;
