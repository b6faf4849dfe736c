package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"toolbelt/catalog"
)

// Message is one message of a case's conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Case is one labelled turn: what was said, and which tools were needed.
type Case struct {
	ID           string              `json:"id"`
	Messages     []Message           `json:"messages"`
	Needed       []string            `json:"needed"` // none: the label says that no tool is called for
	Alternatives map[string][]string `json:"alt"`    // of a needed tool: those that count as well
	Conversation string              `json:"conversation"`
	Turn         int                 `json:"turn"`
}

// Dataset is a catalog with labelled turns.
type Dataset struct {
	Name  string
	Tools []catalog.Tool
	Core  []string // tools marked "core" in the catalog
	Cases []Case
}

// maxLine bounds one line of a data file, in bytes.
const maxLine = 16 << 20

// ReadDataset reads dir/catalog.jsonl and dir/cases.<cases>.jsonl. A broken line is an error of kind Invalid that names file and line.
func ReadDataset(dir, cases string) (*Dataset, error) {
	d := &Dataset{Name: filepath.Base(dir)}
	err := readLines(filepath.Join(dir, "catalog.jsonl"), func(line []byte) error {
		t, ok := catalog.ParseTool(line)
		if !ok {
			return errors.New("not a tool with a name")
		}
		var marks struct {
			Core bool `json:"core"`
		}
		if err := json.Unmarshal(line, &marks); err != nil {
			return err
		}
		if marks.Core {
			d.Core = append(d.Core, t.Name)
		}
		d.Tools = append(d.Tools, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "cases."+cases+".jsonl"), func(line []byte) error {
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		d.Cases = append(d.Cases, c)
		return nil
	})
	return d, err
}

// Datasets returns the names of the folders under dir that hold a catalog, sorted.
func Datasets(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("reading the data folder %q", dir), err)
	}
	var sets []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), "catalog.jsonl")); err == nil {
			sets = append(sets, e.Name())
		}
	}
	slices.Sort(sets)
	return sets, nil
}

func readLines(path string, each func(line []byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("no data file %q", path), err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("%s:%d is not JSON", path, n), nil)
		}
		if err := each(line); err != nil {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("%s:%d", path, n), err)
		}
	}
	if err := s.Err(); err != nil {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("reading %s", path), err)
	}
	return nil
}
