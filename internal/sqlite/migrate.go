package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"

	"toolbelt/catalog"
)

// applicationID marks a SQLite file as ours: "TBLT".
const applicationID = 0x54424c54

//go:embed migrations/*.sql
var migrations embed.FS // read only

// version is the schema version that this program writes: the number of its migrations.
func version() int {
	names, _ := migrationNames()
	return len(names)
}

// migrationNames are in order: the n-th, from 1, begins with its number in four digits and makes version n.
func migrationNames() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if want := fmt.Sprintf("%04d_", i+1); path.Base(name)[:len(want)] != want {
			return nil, fmt.Errorf("migration %q stands where %s… is due", name, want)
		}
	}
	return names, nil
}

// migrate brings the schema to this program's version, each step in a transaction of its own.
func migrate(ctx context.Context, db *sql.DB) error {
	names, err := migrationNames()
	if err != nil {
		return err
	}
	for i, name := range names {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if err := migrateTo(ctx, db, i+1, string(script)); err != nil {
			return err
		}
	}
	return nil
}

// migrateTo runs the script unless the file, which another process may have brought forward meanwhile, has that version.
func migrateTo(ctx context.Context, db *sql.DB, target int, script string) error {
	return transact(ctx, db, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
			return err
		}
		if have > version() {
			return catalog.NewError(catalog.Conflict, fmt.Sprintf("the database has version %d, this program knows %d: use the newer program, or set TOOLBELT_DB to another file", have, version()), nil)
		}
		if have >= target {
			return nil
		}
		if have != target-1 {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("the database has version %d, which no program wrote: set TOOLBELT_DB to another file", have), nil)
		}
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("migrating to version %d: %w", target, err)
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, target))
		return err
	})
}
