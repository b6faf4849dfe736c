// Package sqlite keeps what must outlive a restart in one SQLite file: vectors, tools seen, sessions
// and their turns, uses, skills, what was learned from use, and the install's keys. It implements session.Store, embed.Store, skills.Store and learn.Store.
//
// All writes of a process go through one connection, in transactions that take the write lock at their
// start, so that they wait for another process instead of failing; reads have connections of their own
// and, in WAL mode, wait for nobody. Every method is safe for concurrent use.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"toolbelt/catalog"
)

// Memory is the path of a database that lives in memory and ends with Close.
const Memory = ":memory:"

// readers is how many reads may run at once.
const readers = 4

// DB is an open database. Make one with Open.
type DB struct {
	path  string
	write *sql.DB // one connection; in memory also the only one
	read  *sql.DB
	log   *slog.Logger

	unkept atomic.Pointer[error] // of the last write, nil where it was kept
	file   fs.FileInfo           // of what was opened, nil where it is none
}

// care is what an opening may do to what it finds.
type care uint8

const (
	makeRoom  care = iota // set aside what is no database of ours, and make one where there is none
	makeOne               // make one where there is none
	touchNone             // neither
)

// Open opens or makes the database at path: missing folders are made with mode 0700, the file with 0600.
// A file that is damaged or no database is set aside as PATH.broken-YYYYMMDD-HHMMSS, one of a newer version as
// PATH.newer-…, with its -wal and -shm beside it, and a fresh one is made: one line of log names both. It is neither
// deleted nor overwritten. Several processes may have the same file open. It is for the daemon, which must come up whatever it finds; who is asked by a
// user for a while uses OpenOrMake or OpenExisting.
//
// An error says what to do: Invalid where path can be no database of ours, Conflict where a running process still uses
// the file that would be set aside, Unavailable where the disk or its permissions are in the way.
// A file of up to 128 MB is read whole, to check it: about 1 ms a MB. The caller closes the DB.
func Open(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	return open(ctx, path, log, makeRoom)
}

// OpenOrMake is Open, but that a file which it would set aside stays as it is: that is an error of kind Invalid.
func OpenOrMake(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	return open(ctx, path, log, makeOne)
}

// OpenExisting is OpenOrMake, but that nothing is made: a path without a file, or with one that holds nothing yet, is an error of kind NotFound.
// A database of ours of an older version is brought forward. One that may only be read is opened for reading: what would write to it fails.
func OpenExisting(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	return open(ctx, path, log, touchNone)
}

func open(ctx context.Context, path string, log *slog.Logger, may care) (*DB, error) {
	if path == Memory {
		return openMemory(ctx, log)
	}
	path, err := place(path, may)
	if err != nil {
		return nil, err
	}
	unlock := lockFolder(ctx, filepath.Dir(path))
	defer unlock()
	if err := settle(ctx, path, log, may); err != nil {
		return nil, err
	}
	if may == touchNone && !mayWrite(path) {
		return openReadOnly(ctx, path, log)
	}
	if err := create(path); err != nil {
		return nil, err
	}
	db := &DB{
		path:  path,
		write: pool(connector{path: path}, 1),
		read:  pool(connector{path: path, readOnly: true}, readers),
		log:   log,
	}
	if err := db.prepare(ctx); err != nil {
		db.Close()
		return nil, explain("opening the database "+quote(path), path, err)
	}
	db.file, _ = os.Stat(path)
	return db, nil
}

// openReadOnly opens a database that this process may not write to, and leaves nothing beside it.
func openReadOnly(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	doing := "opening the database " + quote(path) + " for reading only"
	db := &DB{path: path, write: pool(reader(path), 1), read: pool(reader(path), readers), log: log}
	var have int
	err := db.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	if err == nil && have < version() {
		err = catalog.NewError(catalog.Unavailable, fmt.Sprintf(
			"%s: it has version %d and must be brought forward to %d: run a command as somebody who may write to it", doing, have, version()), nil)
	}
	if err != nil {
		db.Close()
		return nil, explain(doing, path, err)
	}
	return db, nil
}

// reader opens the file at path for reading alone. Where nothing may be written beside it and no log is there, nobody is taken to write to it meanwhile.
func reader(path string) connector {
	_, err := os.Stat(path + "-wal")
	return connector{path: path, probe: true, alone: errors.Is(err, fs.ErrNotExist) && !mayWrite(path)}
}

func openMemory(ctx context.Context, log *slog.Logger) (*DB, error) {
	only := pool(connector{path: Memory}, 1)
	db := &DB{path: Memory, write: only, read: only, log: log}
	if err := migrate(ctx, only); err != nil {
		db.Close()
		return nil, explain("making a database in memory", Memory, err)
	}
	return db, nil
}

// Path is where the database lies, absolute, or Memory.
func (db *DB) Path() string { return db.path }

// Close ends all use of the database. What was written is safe without it.
func (db *DB) Close() error {
	return errors.Join(db.read.Close(), db.write.Close())
}

// prepare turns WAL on and brings the schema up to date.
func (db *DB) prepare(ctx context.Context) error {
	mode, err := enableWAL(ctx, db.write)
	if err != nil {
		return err
	}
	if !strings.EqualFold(mode, "wal") {
		db.log.Warn("this file system allows no write-ahead log: the database works, but more slowly", "path", db.path, "journal_mode", mode)
	}
	return migrate(ctx, db.write)
}

// enableWAL asks again while another process holds the file: SQLite does not wait by itself for this one statement.
func enableWAL(ctx context.Context, db *sql.DB) (mode string, err error) {
	for deadline := time.Now().Add(busyTimeout); ; {
		err = db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode)
		if !isBusy(err) || time.Now().After(deadline) {
			return mode, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// place makes path absolute, free of links (SQLite puts its log beside the file itself), and, where one may be made, the folder for it.
func place(path string, may care) (string, error) {
	if path == "" {
		return "", catalog.NewError(catalog.Invalid, "the path of the database is empty, as it is where HOME is not set: set TOOLBELT_DB to a file, or to "+Memory, nil)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", catalog.NewError(catalog.Invalid, "finding the folder of the database "+quote(path), err)
	}
	if may == touchNone {
		return linked(absolute), nil
	}
	if err := os.MkdirAll(filepath.Dir(absolute), 0o700); err != nil {
		return "", catalog.NewError(catalog.Unavailable, fmt.Sprintf(
			"making the folder %s for the database; set TOOLBELT_DB to a file in a folder that you may write to", quote(filepath.Dir(absolute))), err)
	}
	return linked(absolute), nil
}

// linked is the file that path leads to, path itself where there is none.
func linked(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// create makes an empty file of mode 0600 where there is none, before SQLite would make it readable for others; one that others may
// read is closed to them.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(path, 0o600) // somebody else's file stays as it is
		}
		return nil
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return catalog.NewError(catalog.Unavailable, fmt.Sprintf(
			"making the database %s; set TOOLBELT_DB to a file in a folder that you may write to", quote(path)), err)
	}
	return nil
}

func quote(path string) string { return fmt.Sprintf("%q", path) }
