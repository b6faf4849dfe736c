package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/mattn/go-sqlite3"

	"toolbelt/catalog"
)

// companions are the files that belong to a database at PATH, in the order in which they are renamed: the
// database last, so that it never stands alone beside a fresh log.
func companions() []string { return []string{"-wal", "-shm", "-journal", ""} }

// maxCheckedBytes is the size up to which a file is read whole at each start: beyond it a start would take too long, and damage
// past the schema is found only when it is met.
const maxCheckedBytes = 128 << 20

// verdict says what a file is.
type verdict struct {
	label string // "broken" or "newer" where it cannot be used, "" where it can
	why   string
	empty bool // it holds nothing yet
}

// settle makes path fit to be opened, or says why it is not. Nothing at path is fine where a file may be made.
func settle(ctx context.Context, path string, log *slog.Logger, may care) error {
	v, err := look(ctx, path)
	if err != nil {
		return err
	}
	switch {
	case v.empty && may == touchNone:
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no database %s", quote(path)), nil)
	case v.label == "":
		return nil
	case may != makeRoom:
		return catalog.NewError(catalog.Invalid, fmt.Sprintf(
			"the file %s %s; it was left as it is: name another with --db or TOOLBELT_DB (a daemon that starts with this one sets it aside and makes a fresh database)", quote(path), v.why), nil)
	}
	return setAside(path, v, log)
}

// look says what lies at path, without changing it.
func look(ctx context.Context, path string) (verdict, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return verdict{empty: true}, nil
	case err != nil:
		return verdict{}, catalog.NewError(catalog.Unavailable, "looking at the database "+quote(path)+"; set TOOLBELT_DB to a file that you may read", err)
	case info.IsDir():
		return verdict{}, catalog.NewError(catalog.Invalid, quote(path)+" is a folder: set TOOLBELT_DB to a file, such as "+quote(path+"/toolbelt.db"), nil)
	case !info.Mode().IsRegular():
		return verdict{}, catalog.NewError(catalog.Invalid, quote(path)+" is no ordinary file: set TOOLBELT_DB to one", nil)
	case info.Size() == 0:
		return verdict{empty: true}, nil
	}
	v, err := examine(ctx, path, info.Size() <= maxCheckedBytes)
	if err != nil {
		return v, explain("reading the database "+quote(path), path, err)
	}
	return v, nil
}

// setAside renames a file that cannot be used.
func setAside(path string, v verdict, log *slog.Logger) error {
	if inUse(path) {
		return catalog.NewError(catalog.Conflict, fmt.Sprintf("the database %s %s, and a running process uses it: end that process, or set TOOLBELT_DB to another file", quote(path), v.why), nil)
	}
	aside, err := freeName(path, v.label, time.Now())
	if err != nil {
		return err
	}
	if err := rename(path, aside); err != nil {
		return catalog.NewError(catalog.Unavailable, fmt.Sprintf("setting the database %s aside, which %s; rename it yourself, or set TOOLBELT_DB to another file", quote(path), v.why), err)
	}
	log.Warn("the database "+v.why+": it was set aside, nothing of it is deleted, and a fresh one is made", "path", path, "set_aside_as", aside)
	return nil
}

// examine reads the file at path, which is not empty, without changing it: its marks and schema, or all of it.
func examine(ctx context.Context, path string, all bool) (verdict, error) {
	db := pool(reader(path), 1)
	v, err := judge(ctx, db, all)
	db.Close()
	if needsWriting(err) && mayWrite(path) {
		// A rollback journal of an interrupted creation, or no shared memory for a reader: SQLite must write to read on.
		db = pool(connector{path: path, readOnly: true}, 1)
		v, err = judge(ctx, db, all)
		db.Close()
	}
	if isDamage(err) {
		return verdict{label: "broken", why: "is damaged or no database (" + err.Error() + ")"}, nil
	}
	return v, err
}

func needsWriting(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrReadonly || e.Code == sqlite3.ErrCantOpen)
}

// judge decides from the file's marks first, and reads on only where it is ours and of a version that we know.
func judge(ctx context.Context, db *sql.DB, all bool) (verdict, error) {
	var application, have, tables int
	for _, mark := range []struct {
		query string
		into  *int
	}{
		{"PRAGMA application_id", &application},
		{"PRAGMA user_version", &have},
		{"SELECT count(*) FROM sqlite_schema", &tables},
	} {
		if err := db.QueryRowContext(ctx, mark.query).Scan(mark.into); err != nil {
			return verdict{}, err
		}
	}
	foreign := application != 0 && application != applicationID
	unmarked := application == 0 && tables > 0
	switch {
	case !foreign && have > version():
		return verdict{label: "newer", why: fmt.Sprintf("has version %d, newer than this program's %d", have, version())}, nil
	case foreign || unmarked:
		return verdict{}, catalog.NewError(catalog.Invalid, "the file is a database of another program: set TOOLBELT_DB to a file of its own", nil)
	}
	if !all {
		return verdict{empty: have == 0}, nil
	}
	var finding string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&finding); err != nil {
		return verdict{}, err
	}
	if finding != "ok" {
		return verdict{label: "broken", why: "is damaged (" + finding + ")"}, nil
	}
	return verdict{empty: have == 0}, nil
}

// freeName is PATH.LABEL-YYYYMMDD-HHMMSS, with -2, -3, … where something of that name exists.
func freeName(path, label string, now time.Time) (string, error) {
	stem := path + "." + label + "-" + now.Format("20060102-150405")
	for i := 1; i <= 10_000; i++ {
		name := stem
		if i > 1 {
			name = fmt.Sprintf("%s-%d", stem, i)
		}
		if isFree(name) {
			return name, nil
		}
	}
	return "", catalog.NewError(catalog.Unavailable, "finding a free name beside "+quote(stem)+": move the files that were set aside before", nil)
}

func isFree(name string) bool {
	for _, suffix := range companions() {
		if _, err := os.Lstat(name + suffix); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func rename(path, aside string) error {
	for _, suffix := range companions() {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}
