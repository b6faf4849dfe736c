package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"toolbelt/embed"
	"toolbelt/skills"
)

func TestAModelWritesASkill(t *testing.T) {
	var asked string
	answer := http.StatusOK
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		w.WriteHeader(answer)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": map[string]string{"role": "assistant", "content": "# Report\n\n1. read\n2. mail"}, "done": true})
	}))
	defer engine.Close()
	address, err := url.Parse(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := modelWriter{client: embed.OllamaClient(address, http.DefaultClient), model: "m"}
	p := skills.Procedure{Examples: []string{"write the report"}, ToolSequence: []string{"read", "mail"}}
	if text, err := w.Write(t.Context(), p); err != nil || text != "# Report\n\n1. read\n2. mail" || !strings.Contains(asked, "write the report") || !strings.Contains(asked, `"stream":false`) {
		t.Errorf("%q, %v; asked %s", text, err, asked)
	}
	answer = http.StatusNotFound
	if text, err := w.Write(t.Context(), p); err == nil {
		t.Errorf("of an engine without the model: %q", text)
	}
}
