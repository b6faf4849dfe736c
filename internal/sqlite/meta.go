package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"

	"toolbelt/catalog"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// Key returns the install's secret of this name: random bytes, made at the first call and the same ever after, for all
// processes on this database.
func (db *DB) Key(ctx context.Context, name string) ([]byte, error) {
	doing := fmt.Sprintf("reading the key %q", name)
	fresh := make([]byte, KeyBytes)
	rand.Read(fresh) // never fails
	var key []byte
	err := db.update(ctx, doing, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", "key/"+name, fresh); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", "key/"+name).Scan(&key)
	})
	if err != nil {
		return nil, err
	}
	if len(key) != KeyBytes {
		return nil, catalog.NewError(catalog.Internal, fmt.Sprintf("%s: it has %d bytes instead of %d", doing, len(key), KeyBytes), nil)
	}
	return key, nil
}
