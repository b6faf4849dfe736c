package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"toolbelt/catalog"
)

// EngineLog reads the log that an Ollama writes at its debug level, while it is written: how many tokens of each prompt were reused, and
// what was cut. Not safe for concurrent use.
type EngineLog struct {
	path   string
	offset int64
	rest   []byte // of a line that is not whole yet
}

// Noted is what the log says of one request.
type Noted struct {
	Prompt, Used, Remaining int    // tokens; all 0 where the log tells nothing of that prompt
	Truncated               string // what was cut from the request, "" where nothing was
}

// NewEngineLog returns a reader of the file at path that begins at its end. A file that cannot be read is a NotFound error.
func NewEngineLog(path string) (*EngineLog, error) {
	l := &EngineLog{path: path}
	if err := l.Skip(); err != nil {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("reading the engine's log %q", path), err)
	}
	return l, nil
}

// Skip leaves out all that is in the log until now.
func (l *EngineLog) Skip() error {
	info, err := os.Stat(l.path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("it is a folder")
	}
	l.offset, l.rest = info.Size(), nil
	return nil
}

const (
	logWait = 500 * time.Millisecond // for lines that are still on their way
	logLook = 20 * time.Millisecond
)

// After returns what the log says since the last call, or Skip, of the request whose prompt had that many tokens, 0 for any. Where nothing is said
// within half a second it returns what is known by then. A log that was cut or replaced is read from its beginning.
func (l *EngineLog) After(ctx context.Context, promptTokens int) (Noted, error) {
	var noted Noted
	for waited := time.Duration(0); ; waited += logLook {
		lines, err := l.lines()
		if err != nil {
			return noted, fmt.Errorf("reading the engine's log %q: %v", l.path, err)
		}
		for _, line := range lines {
			noted.take(line, promptTokens)
		}
		if noted.Prompt > 0 || waited >= logWait {
			return noted, nil
		}
		select {
		case <-ctx.Done():
			return noted, ctx.Err()
		case <-time.After(logLook):
		}
	}
}

// lines are the whole lines that are new.
func (l *EngineLog) lines() ([]string, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < l.offset {
		l.offset, l.rest = 0, nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, l.offset, info.Size()-l.offset))
	if err != nil {
		return nil, err
	}
	l.offset += int64(len(data))
	data = append(l.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	l.rest = bytes.Clone(data[end:])
	return strings.Split(string(data[:end]), "\n"), nil
}

// number of a field of a log line: name=12.
var number = regexp.MustCompile(`(?:^| )(\w+)=(\d+)`)

// take reads one line. Of several prompts of the same length the last counts.
func (n *Noted) take(line string, promptTokens int) {
	switch {
	case strings.Contains(line, `msg="loading cache slot"`):
		slot := fields(line)
		if promptTokens == 0 || slot["prompt"] == promptTokens {
			n.Prompt, n.Used, n.Remaining = slot["prompt"], slot["used"], slot["remaining"]
		}
	case strings.Contains(line, `msg="truncating input prompt"`):
		cut := fields(line)
		n.Truncated = fmt.Sprintf("the prompt of %d tokens was cut to %d", cut["prompt"], cut["new"])
	case strings.Contains(line, `msg="truncating input messages which exceed context length"`) && n.Truncated == "":
		n.Truncated = "earlier messages were dropped"
	}
}

func fields(line string) map[string]int {
	out := map[string]int{}
	for _, m := range number.FindAllStringSubmatch(line, -1) {
		if v, err := strconv.Atoi(m[2]); err == nil {
			out[m[1]] = v
		}
	}
	return out
}
