package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// EraseMemory removes what was learned from the runs that f chooses, of everything where f is zero: the runs, what users said in them wherever that
// is kept, and learned skills that it stands in. A skill that a user wrote or edited stays, without the requests that it was learned from. What is
// erased is overwritten in the file, not only unlinked. Of f, Steps and Newest are passed over.
func (db *DB) EraseMemory(ctx context.Context, f runs.Filter) (runs.Erased, error) {
	f.Steps, f.Newest = 0, 0
	var erased runs.Erased
	err := db.update(ctx, "erasing what was learned", func(tx *sql.Tx) error {
		goals, err := goalsOf(ctx, tx, f)
		if err != nil {
			return err
		}
		where, args := runsWhere(f)
		if erased.Runs, err = deleted(ctx, tx, "DELETE FROM runs WHERE "+where, args...); err != nil {
			return err
		}
		if err := eraseExamples(ctx, tx, f, goals, &erased); err != nil {
			return err
		}
		if err := eraseSkills(ctx, tx, f, goals, &erased); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, CAST('1' AS BLOB)) ON CONFLICT DO UPDATE SET value = CAST(CAST(CAST(value AS INTEGER) + 1 AS TEXT) AS BLOB)", erasuresKey)
		return err
	})
	if err != nil {
		return runs.Erased{}, err
	}
	db.emptyLog(ctx)
	return erased, nil
}

func deleted(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// goalsOf are what users said in the chosen runs.
func goalsOf(ctx context.Context, tx *sql.Tx, f runs.Filter) (map[string]bool, error) {
	where, args := runsWhere(f)
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT goal FROM runs WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	goals := map[string]bool{}
	for rows.Next() {
		var goal string
		if err := rows.Scan(&goal); err != nil {
			return nil, err
		}
		goals[goal] = true
	}
	return goals, rows.Err()
}

func eraseExamples(ctx context.Context, tx *sql.Tx, f runs.Filter, goals map[string]bool, erased *runs.Erased) (err error) {
	all := f == runs.Filter{}
	switch {
	case all || f.Tool != "" && f.Session == "" && f.From.IsZero() && f.Until.IsZero():
		if erased.Examples, err = deleted(ctx, tx, "DELETE FROM examples WHERE ?1 = '' OR tool = ?1", f.Tool); err != nil {
			return err
		}
		erased.Habits, err = deleted(ctx, tx, "DELETE FROM follows WHERE ?1 = '' OR before = ?1 OR after = ?1", f.Tool)
		return err
	case f.Session == "":
		until := nanos(f.Until)
		if f.Until.IsZero() {
			until = 1<<63 - 1
		}
		span := "last >= ?1 AND last < ?2 AND (?3 = '' OR %s)"
		if erased.Examples, err = deleted(ctx, tx, "DELETE FROM examples WHERE "+fmt.Sprintf(span, "tool = ?3"), nanos(f.From), until, f.Tool); err != nil {
			return err
		}
		if erased.Habits, err = deleted(ctx, tx, "DELETE FROM follows WHERE "+fmt.Sprintf(span, "before = ?3 OR after = ?3"), nanos(f.From), until, f.Tool); err != nil {
			return err
		}
	}
	for goal := range goals {
		n, err := deleted(ctx, tx, "DELETE FROM examples WHERE text = ?1 AND (?2 = '' OR tool = ?2)", goal, f.Tool)
		if err != nil {
			return err
		}
		erased.Examples += n
	}
	return nil
}

func eraseSkills(ctx context.Context, tx *sql.Tx, f runs.Filter, goals map[string]bool, erased *runs.Erased) error {
	all := f == runs.Filter{}
	list, err := proceduresIn(ctx, tx)
	if err != nil {
		return err
	}
	said := func(text string) bool { return all || goals[text] }
	for _, p := range list {
		about := all || slices.ContainsFunc(slices.Concat(p.Examples, p.NotFor), said) || f.Tool != "" && p.Knows(f.Tool)
		switch {
		case !about || p.Origin.Kind != skills.Learned:
			continue
		case p.Automatic():
			erased.Skills++
			_, err = tx.ExecContext(ctx, "DELETE FROM procedures WHERE name = ?", p.Name)
		default:
			erased.Kept++
			p.Examples, p.NotFor = slices.DeleteFunc(p.Examples, said), slices.DeleteFunc(p.NotFor, said)
			if _, err = tx.ExecContext(ctx, "DELETE FROM procedure_versions WHERE name = ?", p.Name); err == nil {
				err = putProcedure(ctx, tx, p)
			}
		}
		if err != nil {
			return err
		}
	}
	if all {
		_, err = tx.ExecContext(ctx, "DELETE FROM removals")
	}
	return err
}

// proceduresIn are the procedures that can be read, by name.
func proceduresIn(ctx context.Context, q rowser) ([]skills.Procedure, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+procedureColumns+" FROM procedures ORDER BY name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []skills.Procedure
	for rows.Next() {
		p, fault, err := scanProcedure(rows)
		if err != nil {
			return nil, err
		}
		if fault == nil {
			list = append(list, p)
		}
	}
	return list, rows.Err()
}

// MemoryStats returns the counts of this moment.
func (db *DB) MemoryStats(ctx context.Context) (s runs.Stats, err error) {
	err = db.read.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM runs WHERE outcome = 'open'), (SELECT count(*) FROM runs WHERE outcome = 'succeeded'),
			(SELECT count(*) FROM runs WHERE outcome = 'failed'), (SELECT count(*) FROM procedures),
			(SELECT count(*) FROM procedures WHERE json_valid(origin) AND json_extract(origin, '$.kind') = 'learned'), (SELECT count(*) FROM procedure_versions)`).Scan(
		&s.Runs, &s.Open, &s.Succeeded, &s.Failed, &s.Skills, &s.Learned, &s.Versions)
	return s, explain("counting what was learned", db.path, err)
}

// quoteJSON is a value as JSON; what is encoded here always can be.
func quoteJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}
