package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"toolbelt/internal/telemetry"
)

var _ telemetry.Store = (*DB)(nil)

// telemetryColumns are in the order of telemetryRow.
const telemetryColumns = `session, turn, at, mode, fallback, app, model, offered, offered_tokens, visible, visible_tokens, kept_tokens, changed, truncated,
	answers, prompt_tokens, evaluated_tokens, prompt_nanos, rest_answers, rest_prompt_tokens, rest_evaluated_tokens, rest_prompt_nanos,
	hidden_answers, hidden_prompt_tokens, hidden_evaluated_tokens, hidden_prompt_nanos, hidden_rounds, hidden_guesses, hidden_output_tokens, hidden_output_nanos,
	calls, misses, written, asked, loads, names, missed, sought`

// SaveTurns implements telemetry.Store.
func (db *DB) SaveTurns(ctx context.Context, turns []telemetry.Turn) error {
	return db.update(ctx, fmt.Sprintf("keeping the counts of %d turns", len(turns)), func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, saveTurn())
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, t := range turns {
			if _, err := insert.ExecContext(ctx, telemetryRow(t)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// saveTurn is the statement that keeps a turn: one that is known keeps its place in the order of saving.
func saveTurn() string {
	columns := strings.Fields(strings.ReplaceAll(telemetryColumns, ",", " "))
	var set []string
	for _, c := range columns[2:] {
		set = append(set, c+" = excluded."+c)
	}
	return "INSERT INTO telemetry (" + telemetryColumns + ") VALUES (" + strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",") + ") " +
		"ON CONFLICT (session, turn) DO UPDATE SET " + strings.Join(set, ", ")
}

func telemetryRow(t telemetry.Turn) []any {
	row := []any{
		t.Session, t.Number, nanos(t.At), t.Mode, t.Fallback, t.App, t.Model, t.Offered, t.OfferedTokens, t.Visible, t.VisibleTokens, t.KeptTokens, t.Changed, t.Truncated,
	}
	for _, r := range []telemetry.Reading{t.First, t.Rest, t.Hidden.Read} {
		row = append(row, r.Answers, r.PromptTokens, r.EvaluatedTokens, int64(r.PromptDuration))
	}
	row = append(row, t.Hidden.Rounds, t.Hidden.Guesses, t.Hidden.Generated, int64(t.Hidden.GeneratedDuration))
	row = append(row, t.Use.Calls, t.Use.Misses, t.Use.Written, t.Use.Asked, t.Use.Loads)
	for _, names := range [][]string{t.Use.Names, t.Use.Missed, t.Use.Sought} {
		row = append(row, nameList(names))
	}
	return row
}

// nameList is names as JSON, null without any.
func nameList(names []string) any {
	if len(names) == 0 {
		return nil
	}
	return string(quoteJSON(names))
}

// Turns implements telemetry.Store. One that cannot be read is left out, with a line of log.
func (db *DB) Turns(ctx context.Context, f telemetry.Filter) ([]telemetry.Turn, error) {
	list, err := db.turns(ctx, f)
	return list, explain("reading the counts of turns", db.path, err)
}

func (db *DB) turns(ctx context.Context, f telemetry.Filter) ([]telemetry.Turn, error) {
	from, until := int64(math.MinInt64), int64(math.MaxInt64)
	if !f.From.IsZero() {
		from = nanos(f.From)
	}
	if !f.Until.IsZero() {
		until = nanos(f.Until)
	}
	rows, err := db.read.QueryContext(ctx, "SELECT "+telemetryColumns+" FROM telemetry WHERE at >= ?1 AND at < ?2 AND (?3 = '' OR app = ?3) ORDER BY at, id", from, until, f.App)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []telemetry.Turn
	for rows.Next() {
		t, fault, err := scanTurn(rows)
		if err != nil {
			return nil, err
		}
		if fault != nil {
			db.log.Warn("the counts of a turn cannot be read and are left out", "why", fault)
			continue
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// scanTurn reads a row. fault says what is wrong with this row alone.
func scanTurn(rows *sql.Rows) (t telemetry.Turn, fault, err error) {
	var at, first, rest, hidden, generated int64
	var names, missed, sought []byte
	err = rows.Scan(&t.Session, &t.Number, &at, &t.Mode, &t.Fallback, &t.App, &t.Model, &t.Offered, &t.OfferedTokens, &t.Visible, &t.VisibleTokens, &t.KeptTokens, &t.Changed, &t.Truncated,
		&t.First.Answers, &t.First.PromptTokens, &t.First.EvaluatedTokens, &first, &t.Rest.Answers, &t.Rest.PromptTokens, &t.Rest.EvaluatedTokens, &rest,
		&t.Hidden.Read.Answers, &t.Hidden.Read.PromptTokens, &t.Hidden.Read.EvaluatedTokens, &hidden, &t.Hidden.Rounds, &t.Hidden.Guesses, &t.Hidden.Generated, &generated,
		&t.Use.Calls, &t.Use.Misses, &t.Use.Written, &t.Use.Asked, &t.Use.Loads, &names, &missed, &sought)
	if err != nil {
		return t, nil, err
	}
	t.At, t.First.PromptDuration, t.Rest.PromptDuration = fromNanos(at), time.Duration(first), time.Duration(rest)
	t.Hidden.Read.PromptDuration, t.Hidden.GeneratedDuration = time.Duration(hidden), time.Duration(generated)
	for _, list := range []struct {
		text []byte
		into *[]string
	}{{names, &t.Use.Names}, {missed, &t.Use.Missed}, {sought, &t.Use.Sought}} {
		if list.text == nil {
			continue
		}
		if fault = json.Unmarshal(list.text, list.into); fault != nil {
			return t, fault, nil
		}
	}
	return t, nil, nil
}

// PruneTurns implements telemetry.Store.
func (db *DB) PruneTurns(ctx context.Context, before, after time.Time, keep int) (int, error) {
	count := 0
	err := db.update(ctx, "deleting the counts of old turns", func(tx *sql.Tx) error {
		n, err := deleted(ctx, tx, "DELETE FROM telemetry WHERE at < ? OR at > ?", nanos(before), nanos(after))
		if err != nil {
			return err
		}
		count = n
		n, err = deleted(ctx, tx, "DELETE FROM telemetry WHERE id IN (SELECT id FROM telemetry ORDER BY id DESC LIMIT -1 OFFSET ?)", max(0, keep))
		count += n
		return err
	})
	return count, err
}
