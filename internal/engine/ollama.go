package engine

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/kvcache"
)

// askOllama reads POST /api/show.
func askOllama(ctx context.Context, c Client, model string) (Known, error) {
	show, _, err := c.ask(ctx, http.MethodPost, "/api/show", map[string]string{"model": model})
	if err != nil {
		return Known{}, err
	}
	if !show.Get("model_info").IsObject() && !show.Get("modelfile").Exists() && !show.Get("template").Exists() {
		return Known{}, errNoAPI // something else's idea of the path
	}
	return ofShow(show), nil
}

// ofShow reads what Ollama says of a model.
func ofShow(show gjson.Result) Known {
	text, renderer := show.Get("template").String(), show.Get("renderer").String()
	f := classifyOllama(text, renderer)
	if list := show.Get("capabilities"); list.IsArray() {
		f.ToolsKnown = true
		list.ForEach(func(_, capability gjson.Result) bool {
			f.Tools = f.Tools || capability.String() == "tools"
			return true
		})
	}
	if f.Placement == kvcache.NoTools && f.Tools { // built in where the template does not show it
		f.Placement = kvcache.PlacementUnknown
	}
	show.Get("model_info").ForEach(func(key, value gjson.Result) bool {
		readInfo(&f, key.String(), value)
		return true
	})
	f.Digest = weightsOf(show.Get("modelfile").String())
	parameters := show.Get("parameters").String()
	f.Context = parameter(parameters, "num_ctx")
	f.Context = f.Effective(0)
	return Known{f, fingerprint("ollama", f.Digest, text, renderer, parameters)}
}

// readInfo reads one key of a GGUF's metadata, the architecture first: "gemma3.attention.sliding_window".
func readInfo(f *kvcache.Facts, key string, value gjson.Result) {
	architecture, key, _ := strings.Cut(key, ".")
	switch {
	case key == "context_length":
		f.MaxContext = natural(value)
	case key == "attention.sliding_window" && architecture != "phi3": // whose window no engine applies
		if window := natural(value); window > 0 {
			f.Sliding, f.Window = true, window
		}
	case strings.HasPrefix(key, "ssm."), strings.HasPrefix(key, "shortconv."), strings.HasPrefix(key, "wkv."):
		f.Sliding, f.Window = true, 0 // a running state cannot be taken back
	}
}

// natural is a whole number from 0 on, 0 for anything else. A list, with one entry a layer, is its largest.
func natural(v gjson.Result) int {
	if v.IsArray() {
		most := 0
		v.ForEach(func(_, element gjson.Result) bool {
			most = max(most, natural(element))
			return true
		})
		return most
	}
	if v.Type != gjson.Number || v.Num < 0 || v.Num > math.MaxInt32 {
		return 0
	}
	return int(v.Num)
}

// parameter returns a number among a model's parameters, one a line, 0 where there is none.
func parameter(parameters, name string) int {
	for line := range strings.Lines(parameters) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			if n, err := strconv.Atoi(fields[1]); err == nil && n > 0 && n <= math.MaxInt32 {
				return n
			}
		}
	}
	return 0
}

// weightsOf returns the digest that the first FROM of a Modelfile names, "" where it names none.
func weightsOf(modelfile string) string {
	for line := range strings.Lines(modelfile) {
		from, ok := strings.CutPrefix(strings.TrimSpace(line), "FROM ")
		if !ok {
			continue
		}
		if at := strings.LastIndex(from, "sha256-"); at >= 0 {
			return strings.TrimSpace(from[at:])
		}
	}
	return ""
}

// running asks which models are loaded, in the way that the engine understands. One that does not tell is errNoAPI.
func (c Client) running(ctx context.Context, now func() time.Time) (map[string]kvcache.Loaded, error) {
	loaded, err := c.runningOllama(ctx, now)
	if errors.Is(err, errNoAPI) {
		return c.runningLlama(ctx)
	}
	return loaded, err
}

// runningOllama asks GET /api/ps. Times are put right by the engine's own clock.
func (c Client) runningOllama(ctx context.Context, now func() time.Time) (map[string]kvcache.Loaded, error) {
	ps, clock, err := c.ask(ctx, http.MethodGet, "/api/ps", nil)
	if err != nil {
		return nil, err
	}
	if !ps.Get("models").IsArray() {
		return nil, errNoAPI
	}
	loaded := map[string]kvcache.Loaded{}
	ps.Get("models").ForEach(func(_, m gjson.Result) bool {
		name := m.Get("model").String()
		if name == "" {
			name = m.Get("name").String()
		}
		l := kvcache.Loaded{Context: natural(m.Get("context_length"))}
		if until, err := time.Parse(time.RFC3339Nano, m.Get("expires_at").String()); err == nil && !clock.IsZero() {
			l.Until = now().Add(until.Sub(clock))
		}
		loaded[name] = l
		return true
	})
	return loaded, nil
}
