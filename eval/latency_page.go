package eval

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"text/tabwriter"
)

//go:embed latency.html.tmpl
var latencyTemplate string

// Page is a report of tables and pictures in a form that all its formats are written from. Titles, what is said about tables, and their heads are plain words.
type Page struct {
	Title    string
	Settings string
	Partial  string // why it is not complete; "" where it is
	Charts   []chart
	Tables   []Table
	Notes    []string
	Ending   string // what the notes are called; "" for "Notes"
}

// Table is one table. A row may be shorter than the head; its last cell then takes the rest of the line.
type Table struct {
	Title, About string
	Head         []string
	Rows         [][]string
}

// Palette is the colours of the page.
func (Page) Palette() template.CSS { return template.CSS(palette) }

// NotesTitle is what the notes are called.
func (p Page) NotesTitle() string { return cmp.Or(p.Ending, "Notes") }

// Pictures are the page's pictures as files that need nothing else, by their names.
func (p Page) Pictures() map[string]func(io.Writer) error {
	files := map[string]func(io.Writer) error{}
	for _, c := range p.Charts {
		if c.File != "" && c.Picture != "" {
			files[c.File] = c.writeFile
		}
	}
	return files
}

// Span is how many columns the i-th cell of a row takes.
func (t Table) Span(row []string, i int) int {
	if i == len(row)-1 {
		return len(t.Head) - i
	}
	return 1
}

// writeText writes the page for a terminal.
func (p Page) writeText(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintln(&out, p.Settings)
	for _, t := range p.Tables {
		fmt.Fprintf(&out, "\n%s\n", t.Title)
		if err := aligned(&out, t.Head, t.Rows); err != nil {
			return err
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, "\nnote: %s\n", note)
	}
	if p.Partial != "" {
		fmt.Fprintf(&out, "\nNOT COMPLETE: %s\n", p.Partial)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// aligned writes a table without spaces at the ends of its lines. The last cell of a row that is shorter than the head runs on over the columns
// behind it, and makes none of them wider.
func aligned(out io.Writer, head []string, rows [][]string) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.ToUpper(strings.Join(head, "\t")))
	for _, row := range rows {
		cells := make([]string, len(head)) // a row that is full, so that no column ends at it
		if copy(cells, row); len(row) < len(head) {
			cells[len(row)-1] = runsOn
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	i := -1 // the head
	for line := range strings.Lines(text.String()) {
		if i >= 0 && len(rows[i]) < len(head) {
			line, _, _ = strings.Cut(line, runsOn)
			line += rows[i][len(rows[i])-1]
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
		i++
	}
	return nil
}

// runsOn stands for a cell that runs on while the columns are measured.
const runsOn = "\x01"

// WriteMarkdown writes the page as a Markdown document.
func (p Page) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n%s\n", p.Title, markdown(p.Settings))
	if p.Partial != "" {
		fmt.Fprintf(&out, "\n**Not complete:** %s\n", markdown(p.Partial))
	}
	for _, c := range p.Charts {
		if c.File != "" && c.Picture != "" {
			fmt.Fprintf(&out, "\n![%s: %s](%s)\n", markdown(c.Title), markdown(c.About), c.File)
		}
	}
	for _, t := range p.Tables {
		fmt.Fprintf(&out, "\n## %s\n\n", t.Title)
		if t.About != "" {
			fmt.Fprintf(&out, "%s\n\n", t.About)
		}
		fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
		for _, row := range t.Rows {
			cells := make([]string, len(t.Head))
			for i := range row {
				cells[i] = markdown(row[i])
			}
			fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	if len(p.Notes) > 0 {
		fmt.Fprintf(&out, "\n## %s\n\n", p.NotesTitle())
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&out, "- %s\n", markdown(note))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteHTML writes the page as one file that needs nothing else.
func (p Page) WriteHTML(w io.Writer) error {
	t, err := template.New("latency").Parse(latencyTemplate)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	return t.Execute(w, p)
}
