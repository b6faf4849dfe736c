package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"toolbelt/catalog"
)

// explain turns what SQLite says into an error with a kind and a sentence that says what to do. It leaves nil, errors
// that have a kind already, and ends of a context recognisable.
func explain(doing, path string, err error) error {
	var own *catalog.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	}
	kind, advice := advise(path, err)
	if advice != "" {
		doing += "; " + advice
	}
	return catalog.NewError(kind, doing, err)
}

func advise(path string, err error) (catalog.Kind, string) {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return catalog.Internal, ""
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return catalog.Unavailable, "the disk is full: free some space, or set TOOLBELT_DB to a file on another disk"
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return catalog.Unavailable, "another process holds " + quote(path) + " for long: end it, or set TOOLBELT_DB to a file of its own"
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen, sqlite3.ErrAuth:
		return catalog.Unavailable, "set TOOLBELT_DB to a file that you may write to, in a folder that you may write to"
	case sqlite3.ErrIoErr:
		return catalog.Unavailable, "the disk does not read or write as it should: check it, or set TOOLBELT_DB to a file on another disk"
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return catalog.Unavailable, "the file is damaged: the next start of the daemon sets it aside and makes a fresh one"
	}
	return catalog.Internal, ""
}

func isBusy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}

func isDamage(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}
