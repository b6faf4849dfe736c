package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// keptCalibrations bounds the table: the newest are kept.
const keptCalibrations = 1000

// Calibration returns what was measured of a catalog by this model, and whether anything was.
func (db *DB) Calibration(ctx context.Context, m embed.Model, of catalog.Hash) (embed.Measured, bool, error) {
	c := embed.Measured{Model: m, Catalog: of}
	var at int64
	err := db.read.QueryRowContext(ctx, `
		SELECT tools, requests, mean, deviation, floor, generic, ceiling, at FROM calibrations
		WHERE model = ? AND digest = ? AND prefix = ? AND dim = ? AND catalog = ?`, m.Name, m.Digest, m.Prefix, m.Dim, of[:]).
		Scan(&c.Tools, &c.Requests, &c.Mean, &c.Deviation, &c.Floor, &c.Generic, &c.Ceiling, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return embed.Measured{}, false, nil
	}
	if err != nil {
		return embed.Measured{}, false, explain(fmt.Sprintf("reading what was measured by %q", m.Name), db.path, err)
	}
	c.At = fromNanos(at)
	return c, true, nil
}

// SaveCalibration inserts or replaces what was measured of one catalog by one model. A figure that is NaN or infinite is an error
// of kind Invalid. Of very many the oldest are deleted.
func (db *DB) SaveCalibration(ctx context.Context, c embed.Measured) error {
	for _, x := range []float64{c.Mean, c.Deviation, c.Floor, c.Ceiling} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("storing what was measured by %q: %v is no figure", c.Model.Name, x), nil)
		}
	}
	return db.update(ctx, fmt.Sprintf("storing what was measured by %q", c.Model.Name), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO calibrations (model, digest, prefix, dim, catalog, tools, requests, mean, deviation, floor, generic, ceiling, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET tools = excluded.tools, requests = excluded.requests, mean = excluded.mean,
				deviation = excluded.deviation, floor = excluded.floor, generic = excluded.generic,
				ceiling = excluded.ceiling, at = excluded.at`,
			c.Model.Name, c.Model.Digest, c.Model.Prefix, c.Model.Dim, c.Catalog[:], c.Tools, c.Requests, c.Mean, c.Deviation, c.Floor, c.Generic, c.Ceiling, nanos(c.At))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			DELETE FROM calibrations WHERE (model, digest, prefix, dim, catalog) IN
				(SELECT model, digest, prefix, dim, catalog FROM calibrations ORDER BY at DESC LIMIT -1 OFFSET ?)`, keptCalibrations)
		return err
	})
}
