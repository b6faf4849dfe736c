package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/config"
	"toolbelt/internal/sqlite"
)

// databaseOpener opens the configured database; from says where the settings came from.
type databaseOpener func(ctx context.Context, p Process, cfg config.Config, from config.Provenance, log *slog.Logger) (*sqlite.DB, error)

// openKept opens the database for a command that has nothing to do where nothing is kept. No file is made, renamed or changed in kind: a path that was
// given for this command must have a database, and where the daemon's own place has none yet, the command sees an empty one, and its user is told.
func openKept(ctx context.Context, p Process, cfg config.Config, from config.Provenance, log *slog.Logger) (*sqlite.DB, error) {
	db, err := sqlite.OpenExisting(ctx, cfg.Store.Path, log)
	if err == nil || catalog.KindOf(err) != catalog.NotFound {
		return db, err
	}
	if o := from.Origins["db"]; o.Source == config.Flag || o.Source == config.Environment {
		return nil, fmt.Errorf("%w (%s): is the path right? \"toolbelt serve\" makes the database where it runs with the same --db or TOOLBELT_DB", err, o)
	}
	fmt.Fprintf(p.Stderr, "toolbelt: nothing is kept yet: \"toolbelt serve\" makes the database %s when it first runs\n", cfg.Store.Path)
	return sqlite.OpenExisting(ctx, sqlite.Memory, log)
}

// openToWrite opens the database for a command that brings something to keep, and makes it where there is none. What is no database stays as it is.
func openToWrite(ctx context.Context, _ Process, cfg config.Config, _ config.Provenance, log *slog.Logger) (*sqlite.DB, error) {
	return sqlite.OpenOrMake(ctx, cfg.Store.Path, log)
}

// openToTry opens the database for a command that says what openToWrite would do: where there is none it sees an empty one.
func openToTry(ctx context.Context, _ Process, cfg config.Config, _ config.Provenance, log *slog.Logger) (*sqlite.DB, error) {
	db, err := sqlite.OpenExisting(ctx, cfg.Store.Path, log)
	if err != nil && catalog.KindOf(err) == catalog.NotFound {
		return sqlite.OpenExisting(ctx, sqlite.Memory, log)
	}
	return db, err
}

// withDatabase opens the configured database for the time of run. log is for what a user must know, warnings and worse. While memory is off
// nothing is read or written.
func withDatabase(cmd *cobra.Command, p Process, open databaseOpener, run func(db *sqlite.DB, log *slog.Logger) error) error {
	cfg, from, err := loadConfig(cmd, p)
	if err != nil {
		return err
	}
	if !cfg.Selection.Memory {
		return fmt.Errorf("memory is off (%s): nothing is read or written; --memory on allows it for this command, \"toolbelt memory on\" for good", from.Origins["memory"])
	}
	log := warnings(p, cfg)
	db, err := open(cmd.Context(), p, cfg, from, log)
	if err != nil {
		return err
	}
	defer db.Close()
	return run(db, log)
}

// warnings is the log of a command that is no daemon.
func warnings(p Process, cfg config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: max(cfg.Log.Level, slog.LevelWarn)}))
}
