package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

const slotLine = `time=2026-11-30T01:30:14.108Z level=DEBUG source=cache.go:104 msg="loading cache slot" id=0 cache=13 prompt=13 used=6 remaining=7` + "\n"

func TestEngineLog(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		prompt int
		want   eval.Noted
	}{
		"a slot":              {slotLine, 13, eval.Noted{Prompt: 13, Used: 6, Remaining: 7}},
		"any prompt":          {slotLine, 0, eval.Noted{Prompt: 13, Used: 6, Remaining: 7}},
		"another prompt":      {slotLine, 14, eval.Noted{}},
		"the last counts":     {slotLine + strings.Replace(slotLine, "used=6 remaining=7", "used=12 remaining=1", 1), 13, eval.Noted{Prompt: 13, Used: 12, Remaining: 1}},
		"an embedder's":       {strings.ReplaceAll(slotLine, "13", "9") + slotLine, 13, eval.Noted{Prompt: 13, Used: 6, Remaining: 7}},
		"not whole yet":       {strings.TrimSuffix(slotLine, "\n"), 13, eval.Noted{}},
		"nothing":             {"", 13, eval.Noted{}},
		"a prompt was cut":    {`level=WARN msg="truncating input prompt" limit=64 prompt=116 keep=4 new=64` + "\n", 64, eval.Noted{Truncated: "the prompt of 116 tokens was cut to 64"}},
		"messages were":       {`level=DEBUG msg="truncating input messages which exceed context length" truncated=2` + "\n", 64, eval.Noted{Truncated: "earlier messages were dropped"}},
		"numbers out of hand": {`msg="loading cache slot" prompt=99999999999999999999 used=x` + "\n", 13, eval.Noted{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			write(t, path, strings.Repeat("earlier lines "+slotLine, 3))
			log, err := eval.NewEngineLog(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, tc.text)
			got, err := log.After(context.Background(), tc.prompt)
			if err != nil || got != tc.want {
				t.Errorf("noted %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

// A log that was replaced by a shorter one is read from its beginning; one that is gone is an error.
func TestEngineLogThatIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, strings.Repeat(slotLine, 5))
	log, err := eval.NewEngineLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(slotLine), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := log.After(context.Background(), 13); err != nil || got.Used != 6 {
		t.Errorf("noted %+v, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := log.After(context.Background(), 13); err == nil {
		t.Error("a log that is gone is no error")
	}
	for _, bad := range []string{path, filepath.Dir(path)} {
		if _, err := eval.NewEngineLog(bad); catalog.KindOf(err) != catalog.NotFound {
			t.Errorf("opening %q: %v, want NotFound", bad, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
