package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"toolbelt/catalog"
)

// Step is one measured request of a trial.
type Step struct {
	Name      string   `json:"name"`
	TTFTMS    float64  `json:"ttft_ms"`
	EvalMS    float64  `json:"prompt_eval_ms,omitempty"` // the engine's own figure
	Prompt    *int     `json:"prompt_tokens"`            // null where the engine did not say
	Evaluated *int     `json:"evaluated_tokens"`
	Cached    *int     `json:"cached_tokens"`
	Estimated bool     `json:"estimated,omitempty"`
	Tools     int      `json:"tools"`               // in the array that reached the engine
	Array     int      `json:"array_bytes"`         // their size
	Missing   []string `json:"missing,omitempty"`   // needed tools that the model could not see
	Truncated string   `json:"truncated,omitempty"` // what the engine cut
	Expected  *int     `json:"expected_tokens"`     // evaluated tokens as the daemon foretold them; null where it did not
	Why       string   `json:"why,omitempty"`       // the step does not count as what it is meant to be, and why
}

// Trial is one trial of a cell, as it stands in the journal.
type Trial struct {
	Catalog  string `json:"catalog"`
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"`
	By       string `json:"by"` // Daemon, or ByHand: straight at the engine
	N        int    `json:"n"`  // from 0
	At       string `json:"at"` // RFC 3339
	Steps    []Step `json:"steps"`
	Why      string `json:"why,omitempty"` // the trial came to nothing, and why
}

// runID is what all trials of a journal have in common.
type runID struct {
	Journal  string            `json:"journal"` // journalFormat
	Engine   string            `json:"engine"`
	Model    string            `json:"model"`
	Digest   string            `json:"digest"`
	Context  int               `json:"num_ctx"`
	Catalogs map[string]string `json:"catalogs"` // hashes by name
}

const journalFormat = "toolbelt-ttft-1"

// journal is the file to which each finished trial is added, so that an interrupted run can go on.
type journal struct {
	file   *os.File // nil: none
	trials []Trial
	note   string // what was wrong with the file and is mended
}

// openJournal opens the file at path. An existing one is gone on with where resume is true and its run is the same one; otherwise it is an
// error of kind Conflict, and nothing is changed. A last line that is not whole, as an interruption leaves it, is dropped; any other that cannot be read is an error
// of kind Invalid that names it. Without a path nothing is kept on disk.
func openJournal(path string, id runID, resume bool) (*journal, error) {
	if path == "" {
		return new(journal), nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("opening the journal: %w", err)
	case !resume && len(data) > 0:
		return nil, catalog.NewError(catalog.Conflict, fmt.Sprintf("%q holds the trials of an earlier run: --resume goes on with it, another --out begins anew", path), nil)
	}
	j := new(journal)
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole < len(data) {
		j.note = fmt.Sprintf("the last line of %q was not whole and is left out", path)
	}
	if err := j.read(path, data[:whole], id); err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	if err = j.file.Truncate(int64(whole)); err == nil {
		_, err = j.file.Seek(int64(whole), 0)
	}
	if err == nil && whole == 0 {
		err = j.write(id)
	}
	if err != nil {
		j.file.Close()
		return nil, fmt.Errorf("writing the journal: %w", err)
	}
	return j, nil
}

func (j *journal) read(path string, data []byte, id runID) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		broken := func(err error) error {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("reading the journal %q, line %d: remove the line, or begin anew with another --out", path, n), err)
		}
		if n == 1 {
			var was runID
			if err := json.Unmarshal(line, &was); err != nil {
				return broken(err)
			}
			if err := was.differs(id); err != nil {
				return catalog.NewError(catalog.Conflict, fmt.Sprintf("the journal %q is of another run; begin anew with another --out", path), err)
			}
			continue
		}
		var t Trial
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&t); err != nil {
			return broken(err)
		}
		if t.Scenario == "" || t.Variant == "" {
			return broken(errors.New("not a trial"))
		}
		j.trials = append(j.trials, t)
	}
	return nil
}

// differs says what is not the same.
func (r runID) differs(other runID) error {
	switch {
	case r.Journal != other.Journal:
		return fmt.Errorf("its format is %q, not %q", r.Journal, other.Journal)
	case r.Model != other.Model || r.Digest != other.Digest:
		return fmt.Errorf("its model is %q %.12s, not %q %.12s", r.Model, r.Digest, other.Model, other.Digest)
	case r.Context != other.Context:
		return fmt.Errorf("its num_ctx is %d, not %d", r.Context, other.Context)
	}
	for name, hash := range other.Catalogs {
		if was, ok := r.Catalogs[name]; ok && was != hash {
			return fmt.Errorf("its catalog %q has other tools or turns", name)
		}
	}
	return nil
}

func (j *journal) write(v any) error {
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// add keeps a trial.
func (j *journal) add(t Trial) error {
	j.trials = append(j.trials, t)
	if err := j.write(t); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close() // every line has been written
	}
}

// of are the trials of a cell, in the order made.
func (j *journal) of(c cellKey) []Trial {
	var out []Trial
	for _, t := range j.trials {
		if c == t.key() {
			out = append(out, t)
		}
	}
	return out
}

// has says whether that trial was made, with or without a figure.
func (j *journal) has(c cellKey, n int) bool {
	return slices.ContainsFunc(j.trials, func(t Trial) bool { return t.key() == c && t.N == n })
}

// cellKey names a cell.
type cellKey struct{ catalog, scenario, variant, by string }

func (t Trial) key() cellKey { return cellKey{t.Catalog, t.Scenario, t.Variant, t.By} }
