package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"toolbelt/catalog"
)

// busyTimeout is how long a statement waits for another process to let go of the file.
const busyTimeout = 10 * time.Second

// connector opens connections to one file, all with the same settings.
type connector struct {
	path     string
	readOnly bool
	probe    bool // opens the file itself for reading only, so that nothing in it or in its log is touched
	alone    bool // with probe: nobody writes to the file meanwhile, so that it can be read where no log can be made beside it
}

func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	d := &sqlite3.SQLiteDriver{ConnectHook: c.settle}
	return d.Open(c.dsn())
}

func (c connector) dsn() string {
	options := "_txlock=immediate&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	if c.path == Memory {
		return "file::memory:?" + options
	}
	slashed := filepath.ToSlash(c.path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/…
	}
	mode := "rw"
	if c.probe {
		mode = "ro"
		if c.alone {
			options += "&immutable=1"
		}
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: "mode=" + mode + "&" + options}).String()
}

func (c connector) settle(conn *sqlite3.SQLiteConn) error {
	if c.probe {
		return nil
	}
	settings := "PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=8388608;"
	if c.readOnly {
		settings = "PRAGMA query_only=ON;"
	}
	_, err := conn.Exec(settings, nil)
	return err
}

// pool keeps at most n connections, and keeps them open.
func pool(c connector, n int) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}

// update runs fn in one transaction of the writing connection, which is rolled back where fn returns an
// error. doing says what for, for the error's text. It waits its turn; ctx ends the wait.
func (db *DB) update(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	wrote := true
	if db.unkept.Load() != nil {
		fn = db.watched(ctx, fn, &wrote)
	}
	err := explain(doing, db.path, transact(ctx, db.write, fn))
	var e sqlite3.Error
	switch {
	case errors.As(err, &e) && e.Code != sqlite3.ErrConstraint: // a constraint says something of what was written
		db.unkept.Store(&err)
	case err == nil && wrote:
		db.unkept.Store(nil)
	}
	return err
}

// watched is fn, and says in wrote whether it changed anything: what changes nothing succeeds on a full disk too.
func (db *DB) watched(ctx context.Context, fn func(tx *sql.Tx) error, wrote *bool) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error {
		var before, after int64
		if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after)
		*wrote = after > before
		return err
	}
}

// Unkept is why the last write came to nothing, with what to do; nil where it was kept, and from the next one on that is. What is written to a file that
// is not there any more, or another one by now, is lost too.
func (db *DB) Unkept() error {
	if err := db.unkept.Load(); err != nil {
		return *err
	}
	if now, err := os.Stat(db.path); db.file != nil && (err != nil || !os.SameFile(db.file, now)) {
		return catalog.NewError(catalog.Unavailable, fmt.Sprintf("the database %s was deleted, or another file put in its place, while it was in use: start the daemon again", quote(db.path)), nil)
	}
	return nil
}

func transact(ctx context.Context, pool *sql.DB, fn func(tx *sql.Tx) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The transaction itself outlives ctx: database/sql would drop the connection, and a database in
	// memory with it. ctx still ends the statements within.
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := fn(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return tx.Commit()
}
