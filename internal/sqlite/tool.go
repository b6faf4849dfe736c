package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"toolbelt/catalog"
)

// SeeTools records that these tools were there at this time, each under its name and the hash of its content. Tools
// without a name are left out.
func (db *DB) SeeTools(ctx context.Context, tools []catalog.Tool, at time.Time) error {
	if len(tools) == 0 {
		return nil
	}
	return db.update(ctx, fmt.Sprintf("recording %d tools", len(tools)), func(tx *sql.Tx) error {
		see, err := tx.PrepareContext(ctx, `
			INSERT INTO tools (name, hash, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)
			ON CONFLICT DO UPDATE SET
				first_seen = min(first_seen, excluded.first_seen),
				last_seen = max(last_seen, excluded.last_seen)`)
		if err != nil {
			return err
		}
		defer see.Close()
		when := nanos(at)
		for _, t := range tools {
			if t.Name == "" {
				continue
			}
			hash := t.Hash()
			if _, err := see.ExecContext(ctx, t.Name, hash[:], when); err != nil {
				return err
			}
		}
		return nil
	})
}
