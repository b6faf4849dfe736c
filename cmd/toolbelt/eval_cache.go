package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"toolbelt/embed"
	"toolbelt/internal/sqlite"
)

// store opens the file that keeps an engine's vectors; nil where none is to.
func (f *recallFlags) store(ctx context.Context, p Process) (embed.Store, func(), error) {
	nothing := func() {}
	path := f.Cache
	switch {
	case path == "none":
		return nil, nothing, nil
	case path == "":
		path = filepath.Join(cacheFolder(p.Environ), "toolbelt", "eval.db")
	}
	path = f.path(p, path)
	db, err := sqlite.OpenOrMake(ctx, path, slog.New(slog.NewTextHandler(p.Stderr, nil)))
	if err != nil {
		return nil, nothing, fmt.Errorf("opening the cache of vectors (--cache names another, or none): %w", err)
	}
	return db, func() { _ = db.Close() }, nil // all is written when it is put in
}

// cacheFolder is the user's folder for what can be made again: the XDG one, else ~/.cache; "" (here) where no home is known.
func cacheFolder(environ []string) string {
	if dir := valueOf(environ, "XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := valueOf(environ, "HOME"); home != "" {
		return filepath.Join(home, ".cache")
	}
	return ""
}
