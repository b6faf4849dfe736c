package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

// Case is one labelled turn: what was said, and which tools were needed.
type Case struct {
	ID           string              `json:"id"`
	Messages     []json.RawMessage   `json:"messages"` // of the request, up to the turn's user message, as an app would send them
	Needed       []string            `json:"needed"`   // none: the label says that no tool is called for
	Alternatives map[string][]string `json:"alt"`      // of a needed tool: those that count as well
	Steps        []string            `json:"steps"`    // the calls in order, with repeats; none: the needed ones, once each
	Conversation string              `json:"conversation"`
	Turn         int                 `json:"turn"`
	Group        string              `json:"group"` // what must not be torn apart when cases are resampled
}

// Dataset is a catalog with labelled turns.
type Dataset struct {
	Name    string
	Tools   []catalog.Tool
	Core    []string // from bundles.json, else the tools marked "core" in the catalog
	Bundles []bundles.Bundle
	Cases   []Case
	Open    int      // turns of recorded requests that were left out, since no request holds their answer
	Skipped []error  // broken lines that were left out, each with file and line
	Unknown []string // needed tools that neither the catalog nor one of their substitutes in it stands for: no selection can find them
}

// maxLine bounds one line of a data file, in bytes.
const maxLine = 16 << 20

// ReadDataset reads a set. In a folder it reads catalog.jsonl, cases.<cases>.jsonl (or, where that is missing, cases.jsonl) and, where it is
// there, bundles.json. A file holds labelled cases, whose catalog and bundles stand beside it, or recorded requests, one body a line as an app sends it in any of the
// protocols: their tools are the catalog, and a turn is one that the model has answered in some request; what it called until the next one was needed. A broken line is an
// error of kind Invalid that names file and line, or is left out and
// kept in Skipped where skipBroken is true. A set without a tool or without a case is an error of kind Invalid.
func ReadDataset(path, cases string, skipBroken bool) (*Dataset, error) {
	d := &Dataset{Name: setName(path)}
	broken := func(err error) error {
		if skipBroken {
			d.Skipped = append(d.Skipped, err)
			return nil
		}
		return err
	}
	var err error
	if isFile(path) {
		err = d.readFile(path, broken)
	} else {
		err = d.readFolder(path, cases, broken)
	}
	if err != nil {
		return nil, err
	}
	d.Unknown = d.unknown()
	return d, nil
}

func (d *Dataset) readFolder(dir, cases string, broken func(error) error) error {
	if err := d.readCatalog(dir, broken); err != nil {
		return err
	}
	path := filepath.Join(dir, "cases."+cases+".jsonl")
	if plain := filepath.Join(dir, "cases.jsonl"); !isFile(path) && isFile(plain) {
		path = plain
	}
	if err := readLines(path, broken, d.addCase); err != nil {
		return err
	}
	return d.usable(path)
}

// readFile reads a file of cases or of requests: its first line says which.
func (d *Dataset) readFile(path string, broken func(error) error) error {
	t, labelled, first := newTraffic(), false, true
	err := readLines(path, broken, func(line []byte) error {
		is := gjson.GetBytes(line, "needed").Exists()
		if first {
			labelled, first = is, false
		}
		switch {
		case is != labelled:
			return errors.New(`cases, which have "needed", and requests do not go together`)
		case labelled:
			return d.addCase(line)
		}
		return t.request(line)
	})
	if err != nil {
		return err
	}
	if !labelled {
		t.tell(d)
		return d.usable(path)
	}
	if err := d.readCatalog(filepath.Dir(path), broken); err != nil {
		return err
	}
	return d.usable(path)
}

// readCatalog reads a folder's catalog.jsonl and bundles.json.
func (d *Dataset) readCatalog(dir string, broken func(error) error) error {
	grouped := map[string]*bundles.Bundle{}
	var order []*bundles.Bundle
	err := readLines(filepath.Join(dir, "catalog.jsonl"), broken, func(line []byte) error {
		t, marks, err := parseCatalogLine(line)
		if err != nil {
			return err
		}
		d.Tools = append(d.Tools, t)
		if marks.Core {
			d.Core = append(d.Core, t.Name)
		}
		if marks.Bundle == "" {
			return nil
		}
		b := grouped[marks.Bundle]
		if b == nil {
			b = &bundles.Bundle{Name: marks.Bundle}
			grouped[marks.Bundle], order = b, append(order, b)
		}
		if !slices.Contains(b.Members, t.Name) {
			b.Members = append(b.Members, t.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range order {
		d.Bundles = append(d.Bundles, *b)
	}
	return d.readBundles(filepath.Join(dir, "bundles.json"))
}

// setName is the name of the folder, also where path is "." or ends with a slash, or that of the file without what tells its kind.
func setName(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	name := filepath.Base(path)
	if isFile(path) {
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

type catalogMarks struct {
	Core   bool   `json:"core"`
	Bundle string `json:"bundle"`
}

func parseCatalogLine(line []byte) (catalog.Tool, catalogMarks, error) {
	var marks catalogMarks
	t, ok := catalog.ParseTool(line)
	if !ok {
		return t, marks, errors.New("not a tool with a name")
	}
	if err := json.Unmarshal(line, &marks); err != nil {
		return t, marks, err
	}
	return t, marks, nil
}

// readBundles reads a bundles.json, which stands above the catalog's own marks; a missing one changes nothing.
func (d *Dataset) readBundles(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var file struct {
		Core    []string         `json:"core"`
		Bundles []bundles.Bundle `json:"bundles"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("reading %q", path), err)
	}
	if err := bundles.Validate(file.Bundles); err != nil {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("reading %q", path), err)
	}
	d.Core, d.Bundles = file.Core, file.Bundles
	return nil
}

func (d *Dataset) addCase(line []byte) error {
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if len(c.Messages) == 0 {
		return errors.New("a case without messages")
	}
	for i, m := range c.Messages {
		if role(m) == "" {
			return fmt.Errorf("message %d has no role", i+1)
		}
	}
	if c.ID == "" {
		c.ID = fmt.Sprint(len(d.Cases) + 1)
	}
	d.Cases = append(d.Cases, c)
	return nil
}

// usable is an error where there is nothing to measure. path is the file of the cases.
func (d *Dataset) usable(path string) error {
	switch {
	case len(d.Tools) == 0:
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("the set %q has no tools", d.Name), nil)
	case len(d.Cases) == 0 && d.Open > 0:
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("of the %d turns in %q none has an answer: record the requests after them too, which hold what the model called", d.Open, path), nil)
	case len(d.Cases) == 0:
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("the set %q has no cases in %q", d.Name, path), nil)
	}
	return nil
}

func role(message json.RawMessage) string { return gjson.GetBytes(message, "role").String() }

func (d *Dataset) unknown() []string {
	known := map[string]bool{}
	for _, t := range d.Tools {
		known[t.Name] = true
	}
	var missing []string
	for _, c := range d.Cases {
		for _, n := range c.Needed {
			substitute := slices.ContainsFunc(c.Alternatives[n], func(a string) bool { return known[a] })
			if !known[n] && !substitute && !slices.Contains(missing, n) {
				missing = append(missing, n)
			}
		}
	}
	return missing
}

// FindDatasets returns the paths of the sets that data holds, sorted by name: data itself where it is a file or holds a catalog, else the folders in it
// that do. names chooses among them, all where it is empty; one that is not there is an error of kind NotFound that lists those that are.
func FindDatasets(data string, names []string) ([]string, error) {
	if isFile(data) || hasCatalog(data) {
		if len(names) > 0 && !slices.Equal(names, []string{setName(data)}) {
			return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("no set %q: %q is itself the set %q", strings.Join(names, ","), data, setName(data)), nil)
		}
		return []string{data}, nil
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("reading the data %q", data), err)
	}
	var there []string
	for _, e := range entries {
		if hasCatalog(filepath.Join(data, e.Name())) {
			there = append(there, e.Name())
		}
	}
	if len(there) == 0 {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("no sets in %q: neither it nor a folder in it holds a catalog.jsonl", data), nil)
	}
	if len(names) == 0 {
		names = there
	}
	var dirs []string
	for _, n := range names {
		if !slices.Contains(there, n) {
			return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("no set %q in %q; there are %s", n, data, strings.Join(there, ", ")), nil)
		}
		if dir := filepath.Join(data, n); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

func hasCatalog(dir string) bool { return isFile(filepath.Join(dir, "catalog.jsonl")) }

// readLines calls each with every line that is not blank. What is wrong with one goes to broken, which ends the reading by returning an error.
func readLines(path string, broken func(error) error, each func(line []byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("no data file %q", path), nil)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, maxLine)
	n := 1
	for ; s.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(s.Bytes(), []byte("\xef\xbb\xbf")))
		if len(line) == 0 {
			continue
		}
		fault := errors.New("not a JSON object")
		if json.Valid(line) && line[0] == '{' {
			fault = each(line)
		}
		if fault == nil {
			continue
		}
		if err := broken(catalog.NewError(catalog.Invalid, fmt.Sprintf("%s:%d", path, n), fault)); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil && !errors.Is(err, io.EOF) {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("%s:%d", path, n), err)
	}
	return nil
}
