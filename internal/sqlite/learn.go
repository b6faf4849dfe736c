package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/learn"
)

var _ learn.Store = (*DB)(nil)

// Bounds of what is kept for all apps and processes together; past them the rows of the oldest use go.
const (
	maxExamples = 50_000
	maxFollows  = 50_000
)

// erasuresKey is where meta counts erasures.
const erasuresKey = "learn/erasures"

// Learned implements learn.Store. A vector that cannot be read is left out, and an example whose hash is none, with a line of log.
func (db *DB) Learned(ctx context.Context) (learn.Kept, error) {
	const doing = "reading what was learned"
	var kept learn.Kept
	tx, end, err := db.moment(ctx)
	if err != nil {
		return learn.Kept{}, explain(doing, db.path, err)
	}
	defer end()
	if kept.Erasures, err = erasures(ctx, tx); err == nil {
		kept.Examples, err = db.examples(ctx, tx)
	}
	if err == nil {
		kept.Follows, err = follows(ctx, tx)
	}
	if err != nil {
		return learn.Kept{}, explain(doing, db.path, err)
	}
	return kept, nil
}

// moment begins a deferred transaction on a reading connection, so that all tables are read as of one moment. The caller ends it.
func (db *DB) moment(ctx context.Context) (*sql.Conn, func(), error) {
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	lasting := context.WithoutCancel(ctx) // a cancelled context would take the connection, and a database in memory, with it
	if _, err := conn.ExecContext(lasting, "BEGIN DEFERRED"); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, func() {
		conn.ExecContext(lasting, "ROLLBACK") // nothing was written
		conn.Close()
	}, nil
}

// Erasures implements learn.Store.
func (db *DB) Erasures(ctx context.Context) (int, error) {
	n, err := erasures(ctx, db.read)
	return n, explain("looking for erasures", db.path, err)
}

// querier is a connection pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func erasures(ctx context.Context, q querier) (n int, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?), 0)", erasuresKey).Scan(&n)
	return n, err
}

func (db *DB) examples(ctx context.Context, tx *sql.Conn) ([]learn.Example, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, app, tool, hash, text, hits, fails, last FROM examples ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []learn.Example
	place := map[int64]int{}
	for rows.Next() {
		var e learn.Example
		var id, last int64
		var hash sql.RawBytes
		if err := rows.Scan(&id, &e.App, &e.Tool, &hash, &e.Text, &e.Hits, &e.Fails, &last); err != nil {
			return nil, err
		}
		if len(hash) != len(e.Hash) {
			db.log.Warn("a learned example cannot be read and is left out", "tool", e.Tool, "why", fmt.Sprintf("a hash of %d bytes", len(hash)))
			continue
		}
		e.Hash, e.Last, e.Vectors = catalog.Hash(hash), fromNanos(last), map[embed.Model]embed.Vector{}
		place[id] = len(list)
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return list, exampleVectors(ctx, tx, list, place)
}

func exampleVectors(ctx context.Context, tx *sql.Conn, list []learn.Example, place map[int64]int) error {
	rows, err := tx.QueryContext(ctx, "SELECT example, model, digest, prefix, data FROM example_vectors")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var m embed.Model
		var data sql.RawBytes
		if err := rows.Scan(&id, &m.Name, &m.Digest, &m.Prefix, &data); err != nil {
			return err
		}
		m.Dim = len(data) / 4
		if at, ok := place[id]; ok {
			if v := decodeVector(data, m.Dim); v != nil {
				list[at].Vectors[m] = v
			}
		}
	}
	return rows.Err()
}

func follows(ctx context.Context, tx *sql.Conn) ([]learn.Follow, error) {
	rows, err := tx.QueryContext(ctx, "SELECT app, before, after, turns, last FROM follows ORDER BY app, before, after")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []learn.Follow
	for rows.Next() {
		var f learn.Follow
		var last int64
		if err := rows.Scan(&f.App, &f.From, &f.To, &f.Count, &last); err != nil {
			return nil, err
		}
		f.Last = fromNanos(last)
		list = append(list, f)
	}
	return list, rows.Err()
}

// SaveLearned implements learn.Store.
func (db *DB) SaveLearned(ctx context.Context, since int, c learn.Change) error {
	return db.update(ctx, fmt.Sprintf("keeping %d examples and %d habits", len(c.Put), len(c.Follows)), func(tx *sql.Tx) error {
		now, err := erasures(ctx, tx)
		if err != nil {
			return err
		}
		if now != since {
			return catalog.NewError(catalog.Conflict, fmt.Sprintf("keeping what was learned: there were %d erasures, now %d", since, now), nil)
		}
		for _, e := range c.Put {
			if err := putExample(ctx, tx, e); err != nil {
				return err
			}
		}
		for _, e := range c.Drop {
			if _, err := tx.ExecContext(ctx, "DELETE FROM examples WHERE app = ? AND hash = ? AND text = ?", e.App, e.Hash[:], e.Text); err != nil {
				return err
			}
		}
		for _, f := range c.Follows {
			if err := putFollow(ctx, tx, f); err != nil {
				return err
			}
		}
		return boundLearned(ctx, tx)
	})
}

func putExample(ctx context.Context, tx *sql.Tx, e learn.Example) error {
	var id int64
	err := tx.QueryRowContext(ctx, `
		INSERT INTO examples (app, tool, hash, text, hits, fails, last) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET hits = excluded.hits, fails = excluded.fails, last = excluded.last
		RETURNING id`, e.App, e.Tool, e.Hash[:], e.Text, e.Hits, e.Fails, nanos(e.Last)).Scan(&id)
	if err != nil {
		return err
	}
	for m, v := range e.Vectors {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO example_vectors (example, model, digest, prefix, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET data = excluded.data`, id, m.Name, m.Digest, m.Prefix, encodeVector(v))
		if err != nil {
			return err
		}
	}
	return nil
}

func putFollow(ctx context.Context, tx *sql.Tx, f learn.Follow) error {
	if f.Count == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM follows WHERE app = ? AND before = ? AND after = ?", f.App, f.From, f.To)
		return err
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO follows (app, before, after, turns, last) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET turns = excluded.turns, last = excluded.last`, f.App, f.From, f.To, f.Count, nanos(f.Last))
	return err
}

// boundLearned deletes what is past the bounds, the oldest first.
func boundLearned(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM examples WHERE id IN (SELECT id FROM examples ORDER BY last DESC LIMIT -1 OFFSET ?)", maxExamples); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		DELETE FROM follows WHERE (app, before, after) IN (SELECT app, before, after FROM follows ORDER BY last DESC LIMIT -1 OFFSET ?)`, maxFollows)
	return err
}

// EraseLearned implements learn.Store. What is erased is overwritten in the file, not only unlinked, and does not stay in its log either.
func (db *DB) EraseLearned(ctx context.Context, tool string) (learn.Erased, error) {
	var erased learn.Erased
	doing := "erasing all that was learned"
	if tool != "" {
		doing = fmt.Sprintf("erasing what was learned of the tool %q", tool)
	}
	err := db.update(ctx, doing, func(tx *sql.Tx) error {
		for _, table := range []struct {
			statement string
			count     *int
		}{
			{"DELETE FROM examples WHERE ?1 = '' OR tool = ?1", &erased.Examples},
			{"DELETE FROM follows WHERE ?1 = '' OR before = ?1 OR after = ?1", &erased.Follows},
		} {
			result, err := tx.ExecContext(ctx, table.statement, tool)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			*table.count = int(n)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, CAST('1' AS BLOB)) ON CONFLICT DO UPDATE SET value = CAST(CAST(CAST(value AS INTEGER) + 1 AS TEXT) AS BLOB)", erasuresKey)
		return err
	})
	if err != nil {
		return learn.Erased{}, err
	}
	db.emptyLog(ctx)
	return erased, nil
}

// emptyLog brings the write-ahead log into the file and empties it. Where another process reads at this moment, that is left to
// the next one: what was erased is then in the log's old pages a little longer.
func (db *DB) emptyLog(ctx context.Context) {
	if _, err := db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil && !strings.Contains(err.Error(), "locked") {
		db.log.Debug("the database's log could not be emptied", "why", err)
	}
}
