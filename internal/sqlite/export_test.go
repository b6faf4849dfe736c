package sqlite

import "context"

// Exec runs a statement on the writing connection, to bring about what a test cannot bring about from outside.
func (db *DB) Exec(ctx context.Context, statement string) error {
	_, err := db.write.ExecContext(ctx, statement)
	return err
}
