package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// keptEngineFacts bounds the table: those stored last are kept.
const keptEngineFacts = 1000

// EngineFacts returns what is stored of a model on an engine, and whether anything is. model is the fingerprint that tells it apart.
func (db *DB) EngineFacts(ctx context.Context, engine, model string) (kvcache.Facts, bool, error) {
	var f kvcache.Facts
	var placement, measured int64
	var tools sql.NullBool
	err := db.read.QueryRowContext(ctx, `
		SELECT placement, drops_after_result, tools_first, system_last, sliding, window, context, max_context, grammar_bytes, weights, takes_tools, strategy, measured
		FROM engine_facts WHERE engine = ? AND model = ?`, engine, model).
		Scan(&placement, &f.DropsAfterResult, &f.ToolsFirst, &f.SystemLast, &f.Sliding, &f.Window, &f.Context, &f.MaxContext, &f.GrammarBytes,
			&f.Digest, &tools, &f.Strategy, &measured)
	if errors.Is(err, sql.ErrNoRows) {
		return kvcache.Facts{}, false, nil
	}
	if err != nil {
		return kvcache.Facts{}, false, explain(fmt.Sprintf("reading what is known of a model on %q", engine), db.path, err)
	}
	if placement > 0 && placement <= int64(kvcache.NoTools) { // a newer program may know more of them
		f.Placement = kvcache.Placement(placement)
	}
	f.Tools, f.ToolsKnown = tools.Bool, tools.Valid
	f.Measured = fromNanos(measured)
	return f, true, nil
}

// SaveEngineFacts inserts or replaces what is known of a model on an engine. Without the name of one of them it is an error of kind Invalid. Of very many the
// oldest are deleted.
func (db *DB) SaveEngineFacts(ctx context.Context, engine, model string, f kvcache.Facts) error {
	doing := fmt.Sprintf("storing what is known of a model on %q", engine)
	if engine == "" || model == "" {
		return catalog.NewError(catalog.Invalid, doing+": it has no name", nil)
	}
	return db.update(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT OR REPLACE INTO engine_facts (engine, model, placement, drops_after_result, tools_first, system_last, sliding, window, context, max_context,
				grammar_bytes, weights, takes_tools, strategy, measured, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			engine, model, int64(f.Placement), f.DropsAfterResult, f.ToolsFirst, f.SystemLast, f.Sliding, f.Window, f.Context, f.MaxContext,
			f.GrammarBytes, f.Digest, sql.NullBool{Bool: f.Tools, Valid: f.ToolsKnown}, string(f.Strategy), nanos(f.Measured), nanos(time.Now()))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			DELETE FROM engine_facts WHERE (engine, model) IN
				(SELECT engine, model FROM engine_facts ORDER BY at DESC, engine, model LIMIT -1 OFFSET ?)`, keptEngineFacts)
		return err
	})
}
