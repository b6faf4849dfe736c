package sqlite

import (
	"context"
)

// KnownTools are the names of all tools that anything is kept of, sorted: tools that were seen, used, learned of, or that a skill names.
func (db *DB) KnownTools(ctx context.Context) ([]string, error) {
	return db.names(ctx, "listing the tools that are known", `
		SELECT name FROM tools
		UNION SELECT tool FROM uses
		UNION SELECT tool FROM examples
		UNION SELECT before FROM follows WHERE before <> ''
		UNION SELECT after FROM follows
		UNION SELECT CASE c.type WHEN 'array' THEN json_extract(c.value, '$[0]') ELSE json_extract(c.value, '$.name') END FROM runs, json_each(runs.calls) AS c WHERE json_valid(runs.calls)
		UNION SELECT t.value FROM procedures, json_each(procedures.tools_required) AS t WHERE json_valid(procedures.tools_required)
		UNION SELECT t.value FROM procedures, json_each(procedures.tool_sequence) AS t WHERE json_valid(procedures.tool_sequence)
		ORDER BY 1`)
}

// KnownSessions are the opaque ids of all conversations that anything is kept of, sorted.
func (db *DB) KnownSessions(ctx context.Context) ([]string, error) {
	return db.names(ctx, "listing the conversations that are known", "SELECT session FROM sessions UNION SELECT session FROM runs ORDER BY 1")
}

// names are the texts of a query's only column; what is null is left out.
func (db *DB) names(ctx context.Context, doing, query string) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, query)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name *string
		if err := rows.Scan(&name); err != nil {
			return nil, explain(doing, db.path, err)
		}
		if name != nil {
			list = append(list, *name)
		}
	}
	return list, explain(doing, db.path, rows.Err())
}
