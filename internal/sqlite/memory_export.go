package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/learn"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// memoryFormat is the version of what ExportMemory writes.
const memoryFormat = 1

// maxMemoryLine bounds one line of an export, in bytes.
const maxMemoryLine = 4 << 20

// memoryLine is one line of an export: a header, or one thing that is kept.
type memoryLine struct {
	Format  int             `json:"toolbelt_memory,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
}

// exampleLine is an example without its vectors, which are made again from the text.
type exampleLine struct {
	App   string    `json:"app"`
	Tool  string    `json:"tool"`
	Hash  []byte    `json:"hash"`
	Text  string    `json:"text"`
	Hits  int       `json:"hits"`
	Fails int       `json:"fails"`
	Last  time.Time `json:"last"`
}

// versionLine is a former version of a procedure.
type versionLine struct {
	Name     string          `json:"name"`
	Version  int             `json:"version"`
	Document json.RawMessage `json:"document"`
}

// ExportMemory writes all that was learned as of one moment, as JSON lines in an order that depends on nothing but what is kept, so that two
// databases that hold the same give the same bytes. The database may be in use.
func (db *DB) ExportMemory(ctx context.Context, w io.Writer) error {
	const doing = "exporting what was learned"
	conn, end, err := db.moment(ctx)
	if err != nil {
		return explain(doing, db.path, err)
	}
	defer end()
	out := bufio.NewWriter(w)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	put := func(kind string, content any) error {
		return e.Encode(memoryLine{Kind: kind, Content: quoteJSON(content)})
	}
	if err := e.Encode(memoryLine{Format: memoryFormat}); err != nil {
		return err
	}
	for _, part := range []func(context.Context, *sql.Conn, func(string, any) error) error{db.exportRuns, db.exportSkills, exportVersions, exportRemovals, exportExamples} {
		if err := part(ctx, conn, put); err != nil {
			return explain(doing, db.path, err)
		}
	}
	return out.Flush()
}

func (db *DB) exportRuns(ctx context.Context, conn *sql.Conn, put func(string, any) error) error {
	list, err := db.runs(ctx, conn, runs.Filter{})
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := put("run", r); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) exportSkills(ctx context.Context, conn *sql.Conn, put func(string, any) error) error {
	list, err := proceduresIn(ctx, conn)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := put("skill", p); err != nil {
			return err
		}
	}
	return nil
}

func exportVersions(ctx context.Context, conn *sql.Conn, put func(string, any) error) error {
	return eachRow(ctx, conn, "SELECT name, version, document FROM procedure_versions ORDER BY name, version", func(row scanner) error {
		var v versionLine
		var document []byte
		if err := row.Scan(&v.Name, &v.Version, &document); err != nil {
			return err
		}
		v.Document = document
		return put("version", v)
	})
}

func exportRemovals(ctx context.Context, conn *sql.Conn, put func(string, any) error) error {
	return eachRow(ctx, conn, "SELECT name, tools, at FROM removals ORDER BY name", func(row scanner) error {
		var r skills.Removal
		var tools []byte
		var at int64
		if err := row.Scan(&r.Name, &tools, &at); err != nil {
			return err
		}
		if r.At = fromNanos(at); json.Unmarshal(tools, &r.Tools) != nil {
			return nil
		}
		return put("removal", r)
	})
}

func exportExamples(ctx context.Context, conn *sql.Conn, put func(string, any) error) error {
	err := eachRow(ctx, conn, "SELECT app, tool, hash, text, hits, fails, last FROM examples ORDER BY app, hash, text", func(row scanner) error {
		var x exampleLine
		var last int64
		if err := row.Scan(&x.App, &x.Tool, &x.Hash, &x.Text, &x.Hits, &x.Fails, &last); err != nil {
			return err
		}
		x.Last = fromNanos(last)
		return put("example", x)
	})
	if err != nil {
		return err
	}
	list, err := follows(ctx, conn)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := put("habit", f); err != nil {
			return err
		}
	}
	return nil
}

func eachRow(ctx context.Context, conn *sql.Conn, query string, each func(scanner) error) error {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Imported counts what an import brought.
type Imported struct {
	Runs     int      `json:"runs"`
	Skills   int      `json:"skills"`
	Examples int      `json:"examples"`
	Habits   int      `json:"habits"`
	Kept     []string `json:"kept,omitempty"` // skills that were here already and differ: they stay as they are
}

// ImportMemory takes in what ExportMemory wrote, whole or not at all. A skill that is here already stays as it is. An error is of kind Invalid and names
// the line at fault; Conflict says that the export is of a newer version.
func (db *DB) ImportMemory(ctx context.Context, r io.Reader) (Imported, error) {
	var done Imported
	err := db.update(ctx, "importing what was learned", func(tx *sql.Tx) error {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxMemoryLine)
		n := 0
		for ; s.Scan(); n++ {
			if err := importLine(ctx, tx, n, bytes.TrimSpace(s.Bytes()), &done); err != nil {
				return atLine(n+1, err)
			}
		}
		if err := s.Err(); err != nil {
			return atLine(n+1, err)
		}
		if n == 0 {
			return catalog.NewError(catalog.Invalid, "importing what was learned: there is nothing in it", nil)
		}
		return nil
	})
	if err != nil {
		return Imported{}, err
	}
	return done, nil
}

// atLine says where an import failed; what the database itself says is left as it is.
func atLine(n int, err error) error {
	var own *catalog.Error
	if errors.As(err, &own) {
		return catalog.NewError(own.Kind, fmt.Sprintf("importing what was learned: line %d", n), err)
	}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &wrong) || errors.Is(err, bufio.ErrTooLong) || errors.Is(err, io.ErrUnexpectedEOF) {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("importing what was learned: line %d", n), err)
	}
	return err
}

func importLine(ctx context.Context, tx *sql.Tx, n int, text []byte, done *Imported) error {
	var line memoryLine
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	switch {
	case n == 0 && line.Format == 0:
		return catalog.NewError(catalog.Invalid, "it is no export of toolbelt: the first line must be {\"toolbelt_memory\":1}", nil)
	case line.Format > memoryFormat:
		return catalog.NewError(catalog.Conflict, fmt.Sprintf("the export is of version %d, this program knows %d: use the newer program", line.Format, memoryFormat), nil)
	case n == 0:
		return nil
	}
	return importContent(ctx, tx, line, done)
}

func importContent(ctx context.Context, tx *sql.Tx, line memoryLine, done *Imported) error {
	switch line.Kind {
	case "run":
		var r runs.Run
		if err := json.Unmarshal(line.Content, &r); err != nil {
			return err
		}
		if r.Key == "" {
			return catalog.NewError(catalog.Invalid, "the run has no key", nil)
		}
		done.Runs++
		return putRun(ctx, tx, r)
	case "skill":
		return importSkill(ctx, tx, line.Content, done)
	case "version":
		var v versionLine
		if err := json.Unmarshal(line.Content, &v); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO procedure_versions (name, version, document) SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM procedures WHERE name = ?1)", v.Name, v.Version, string(v.Document))
		return err
	case "removal":
		var r skills.Removal
		if err := json.Unmarshal(line.Content, &r); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO removals (name, tools, at) VALUES (?, ?, ?)", r.Name, string(quoteJSON(r.Tools)), nanos(r.At))
		return err
	case "example":
		var x exampleLine
		if err := json.Unmarshal(line.Content, &x); err != nil {
			return err
		}
		done.Examples++
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO examples (app, tool, hash, text, hits, fails, last) VALUES (?, ?, ?, ?, ?, ?, ?)", x.App, x.Tool, x.Hash, x.Text, x.Hits, x.Fails, nanos(x.Last))
		return err
	case "habit":
		var f learn.Follow
		if err := json.Unmarshal(line.Content, &f); err != nil {
			return err
		}
		done.Habits++
		return putFollow(ctx, tx, f)
	}
	return catalog.NewError(catalog.Conflict, fmt.Sprintf("%q is nothing that this program knows: a newer one may have written it", line.Kind), nil)
}

func importSkill(ctx context.Context, tx *sql.Tx, content []byte, done *Imported) error {
	var p skills.Procedure
	if err := json.Unmarshal(content, &p); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return err
	}
	old, fault, err := scanProcedure(tx.QueryRowContext(ctx, "SELECT "+procedureColumns+" FROM procedures WHERE name = ?", p.Name))
	switch {
	case err == nil && fault == nil && bytes.Equal(quoteJSON(old), quoteJSON(p)):
		return nil
	case err == nil:
		done.Kept = append(done.Kept, p.Name)
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	done.Skills++
	return putProcedure(ctx, tx, p)
}
