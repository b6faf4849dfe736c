package enginetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// serveRest answers what is no chat: versions, models, health.
func (e *Engine) serveRest(w http.ResponseWriter, r *http.Request, body []byte) {
	answer := e.ollamaRest
	if e.options.Style == LlamaCpp {
		answer = e.llamaRest
	}
	status, v := answer(r.URL.Path, body)
	if v == nil {
		e.notFound(w)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(encoded(v)) // the client may be gone
}

type object = map[string]any

// modelEntry is a model as Ollama's lists have it.
func modelEntry(name string) object {
	return object{
		"name": name, "model": name, "size": 101_000_000, "digest": strings.Repeat("ab", 32), "modified_at": began(),
		"details": object{"parent_model": "", "format": "gguf", "family": "llama", "families": []string{"llama"}, "parameter_size": "135M", "quantization_level": "Q4_1"},
	}
}

func (e *Engine) ollamaRest(path string, body []byte) (int, any) {
	var asked struct{ Model, Name string }
	_ = json.Unmarshal(body, &asked) // where the body says no model, none is found
	switch path {
	case "/api/version":
		return http.StatusOK, object{"version": "0.17.4"}
	case "/api/tags", "/api/ps":
		list := []object{}
		for _, name := range e.options.Models {
			m := modelEntry(name)
			if path == "/api/ps" {
				delete(m, "modified_at")
				m["expires_at"], m["size_vram"], m["context_length"] = began().Add(100*365*24*time.Hour), 0, e.context()
			}
			list = append(list, m)
		}
		return http.StatusOK, object{"models": list}
	case "/api/show":
		name := asked.Model
		if name == "" {
			name = asked.Name
		}
		if !slices.Contains(e.options.Models, strings.TrimSuffix(name, ":latest")) && !slices.Contains(e.options.Models, name) {
			return http.StatusNotFound, object{"error": "model '" + name + "' not found"}
		}
		return http.StatusOK, object{
			"template": e.options.Template, "parameters": "stop \"<|im_end|>\"", "details": modelEntry(name)["details"], "modified_at": began(),
			"model_info":   object{"general.architecture": "llama", "llama.context_length": 8192, "llama.embedding_length": 576},
			"capabilities": []string{"completion", "tools"},
		}
	case "/api/generate":
		return http.StatusOK, object{"model": asked.Model, "created_at": began(), "response": "", "done": true, "done_reason": "load"}
	case "/v1/models":
		return http.StatusOK, e.modelList("library")
	}
	return http.StatusNotFound, nil
}

func (e *Engine) llamaRest(path string, _ []byte) (int, any) {
	switch path {
	case "/health":
		return http.StatusOK, object{"status": "ok"}
	case "/v1/models", "/models":
		list := e.modelList("llamacpp")
		for _, m := range list["data"].([]object) {
			m["aliases"], m["tags"], m["meta"] = []string{}, []string{}, object{"vocab_type": 2, "n_vocab": 49152, "n_ctx": e.context(), "n_ctx_train": 8192, "n_embd": 576}
		}
		return http.StatusOK, list
	case "/props":
		return http.StatusOK, object{
			"default_generation_settings": object{"params": object{"seed": 4294967295, "n_predict": -1, "stream": false}, "n_ctx": e.context()},
			"total_slots":                 1, "model_alias": e.options.Models[0], "model_path": "/models/" + e.options.Models[0] + ".gguf",
			"modalities": object{"vision": false, "video": false, "audio": false}, "endpoint_slots": true, "endpoint_props": false, "endpoint_metrics": false,
			"chat_template": e.options.Template, "chat_template_caps": object{"supports_system_role": true, "supports_tool_calls": true, "supports_tools": true},
			"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "build_info": llamaBuild, "is_sleeping": false,
		}
	}
	return http.StatusNotFound, nil
}

func (e *Engine) modelList(owner string) object {
	list := []object{}
	for _, name := range e.options.Models {
		list = append(list, object{"id": name, "object": "model", "created": began().Unix(), "owned_by": owner})
	}
	return object{"object": "list", "data": list}
}

// context is the context that the engine says a model has.
func (e *Engine) context() int {
	if e.options.Context > 0 {
		return e.options.Context
	}
	return 8192
}
