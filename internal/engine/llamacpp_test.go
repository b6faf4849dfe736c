package engine

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// router is llama.cpp's server in front of one process a model, as far as it is asked: the shapes are those of its version 0.5.0.
type router struct {
	mu       sync.Mutex
	loaded   map[string]bool
	autoload []string // models that a question would have loaded
}

const routerProps = `{"role":"router","max_instances":4,"models_autoload":true,"model_alias":"llama-server","model_path":"none",` +
	`"default_generation_settings":{"params":null,"n_ctx":0},"ui_settings":{},"build_info":"b1-0c1e570","cors_proxy_enabled":false}`

func (s *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	model := r.URL.Query().Get("model")
	switch {
	case r.URL.Path == "/v1/models":
		var data []string
		for _, name := range []string{"one", "two words"} {
			status, meta := "unloaded", ""
			if s.loaded[name] {
				status, meta = "loaded", `,"meta":{"n_ctx":4096,"n_ctx_train":8192}`
			}
			data = append(data, `{"id":"`+name+`","aliases":["`+name+`-alias"],"tags":[],"object":"model","owned_by":"llamacpp","status":{"value":"`+status+`","args":[]}`+meta+`}`)
		}
		io.WriteString(w, `{"data":[`+strings.Join(data, ",")+`],"object":"list"}`)
	case r.URL.Path != "/props":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`)
	case model == "":
		io.WriteString(w, routerProps)
	case !s.loaded[model]:
		if r.URL.Query().Get("autoload") != "false" {
			s.autoload = append(s.autoload, model)
		}
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"code":400,"message":"model is not loaded","type":"invalid_request_error"}}`)
	default:
		template, err := json.Marshal(jinjaChatML)
		if err != nil {
			panic(err)
		}
		io.WriteString(w, `{"default_generation_settings":{"params":{"seed":4294967295},"n_ctx":4096},"total_slots":4,"model_alias":"`+model+`","model_path":"/models/`+model+
			`.gguf","chat_template":`+string(template)+`,"build_info":"b1-0c1e570","is_sleeping":false}`)
	}
}

func TestRouterOfLlamaCpp(t *testing.T) {
	s := &router{loaded: map[string]bool{}}
	server := httptest.NewServer(s)
	defer server.Close()
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := Client{Base: base, HTTP: server.Client()}
	if known, err := Ask(t.Context(), c, "two words"); err == nil || catalog.KindOf(err) != catalog.Unavailable {
		t.Errorf("of a model that is not loaded it says %+v, %v; want nothing, and that it is asked again", known, err)
	}
	if loaded, err := c.running(t.Context(), time.Now); err != nil || len(loaded) != 0 {
		t.Errorf("loaded are %v, %v; want none", loaded, err)
	}
	s.mu.Lock()
	s.loaded["two words"] = true
	s.mu.Unlock()
	known, err := Ask(t.Context(), c, "two words")
	want := kvcache.Facts{Placement: kvcache.BeforeConversation, Context: 4096, GrammarBytes: grammarBytes, Digest: "/models/two words.gguf"}
	if err != nil || known.Facts != want {
		t.Errorf("of a loaded model it says %+v, %v\nwant %+v", known.Facts, err, want)
	}
	loaded, err := c.running(t.Context(), time.Now)
	if context := (kvcache.Loaded{Context: 4096}); err != nil || !reflect.DeepEqual(loaded, map[string]kvcache.Loaded{"two words": context, "two words-alias": context}) {
		t.Errorf("loaded are %v, %v", loaded, err)
	}
	if len(s.autoload) > 0 {
		t.Errorf("asking would have loaded %q", s.autoload)
	}
}

// What the server says of a template counts where the template shows nothing.
func TestToolsOfLlamaCpp(t *testing.T) {
	const caps = `,"chat_template_caps":{"supports_object_arguments":false,"supports_parallel_tool_calls":false,"supports_string_content":true,"supports_system_role":true,"supports_tool_calls":%,"supports_tools":%}`
	for _, c := range []struct {
		name, template, caps string
		want                 kvcache.Facts
	}{
		{"no tools, and it says so", jinjaNoSystem, "false", kvcache.Facts{Placement: kvcache.NoTools, ToolsKnown: true}},
		{"no tools are seen, and it says otherwise", jinjaNoSystem, "true", kvcache.Facts{Tools: true, ToolsKnown: true}},
		{"no tools, of an older server", jinjaNoSystem, "", kvcache.Facts{}},
		{"tools", jinjaChatML, "true", kvcache.Facts{Placement: kvcache.BeforeConversation, Tools: true, ToolsKnown: true}},
		{"tools that it does not see", jinjaChatML, "false", kvcache.Facts{Placement: kvcache.BeforeConversation, ToolsKnown: true}},
		{"something else", jinjaChatML, `"yes"`, kvcache.Facts{Placement: kvcache.BeforeConversation}},
	} {
		template, err := json.Marshal(c.template)
		if err != nil {
			t.Fatal(err)
		}
		props := `{"default_generation_settings":{"n_ctx":4096},"model_path":"/m.gguf","chat_template":` + string(template)
		if c.caps != "" {
			props += strings.ReplaceAll(caps, "%", c.caps)
		}
		c.want.Context, c.want.Digest, c.want.GrammarBytes = 4096, "/m.gguf", grammarBytes
		known, err := Ask(t.Context(), newScripted(map[string]string{"/props": props + "}"}).client(), "m")
		if err != nil || known.Facts != c.want {
			t.Errorf("%s: %+v, %v\nwant %+v", c.name, known.Facts, err, c.want)
		}
	}
}

// A server of one model tells no names while it is awake, and asleep it holds nothing.
func TestLlamaCppAsleep(t *testing.T) {
	awake := `{"default_generation_settings":{"n_ctx":4096},"model_path":"/m.gguf","chat_template":"x","is_sleeping":false}`
	engine := newScripted(map[string]string{"/props": awake})
	if loaded, err := engine.client().running(t.Context(), time.Now); !errors.Is(err, errNoAPI) {
		t.Errorf("awake: %v, %v", loaded, err)
	}
	p := NewProber(engine.client(), nil, kvcache.NewBelief(time.Now), still{}, Options{})
	if !p.Loaded(t.Context(), "any") {
		t.Error("awake it does not have its model")
	}
	engine.set("/props", strings.Replace(awake, "false", "true", 1))
	if loaded, err := engine.client().running(t.Context(), time.Now); err != nil || loaded == nil || len(loaded) > 0 {
		t.Errorf("asleep: %v, %v", loaded, err)
	}
	if p.Loaded(t.Context(), "any") {
		t.Error("asleep it still has its model")
	}
}
