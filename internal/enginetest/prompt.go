package enginetest

import (
	"encoding/json"
	"strings"

	"github.com/ollama/ollama/api"
)

// bytesPerToken is what stands for a tokenizer.
const bytesPerToken = 4

const defaultTemplate = `{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}
# Tools
{{- range .Tools }}
{"type": "function", "function": {{ json .Function }}}
{{- end }}
{{- end }}<|im_end|>
{{ end }}
{{- range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}{{ range .ToolCalls }}<tool_call>{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}</tool_call>{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
`

// render is the prompt of a request: all system messages at its top, as Ollama gathers them, with the tools, then the conversation.
func (e *Engine) render(messages []api.Message, tools []api.Tool) string {
	var b strings.Builder
	var system []string
	lastUser := -1
	for i, m := range messages {
		switch m.Role {
		case "system", "developer":
			system = append(system, m.Content)
		case "user":
			lastUser = i
		}
	}
	b.WriteString("<|im_start|>system\n" + strings.Join(system, "\n\n"))
	if !e.options.ToolsLast {
		writeTools(&b, tools)
	}
	b.WriteString("<|im_end|>\n")
	for i, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			continue
		}
		b.WriteString("<|im_start|>" + m.Role + "\n")
		if e.options.ToolsLast && i == lastUser && i == len(messages)-1 {
			writeTools(&b, tools)
		}
		writeTurn(&b, m)
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String()
}

func writeTools(b *strings.Builder, tools []api.Tool) {
	if len(tools) == 0 {
		return
	}
	b.WriteString("\n# Tools")
	for _, t := range tools {
		text, err := json.Marshal(t.Function)
		if err != nil {
			text = []byte(`"unreadable"`)
		}
		b.WriteString("\n{\"type\": \"function\", \"function\": ")
		b.Write(text)
		b.WriteString("}")
	}
}

// writeTurn writes a message behind its role, as the model would have generated it.
func writeTurn(b *strings.Builder, m api.Message) {
	b.WriteString(m.Content)
	for _, c := range m.ToolCalls {
		b.WriteString(`<tool_call>{"name": "` + c.Function.Name + `", "arguments": ` + c.Function.Arguments.String() + `}</tool_call>`)
	}
	b.WriteString("<|im_end|>\n")
}

// count takes the request's prompt into the model's cache, the answer behind it, and says what of it was there. One sequence is held a
// model: the longest common prefix with it is reused, nothing else.
func (e *Engine) count(r *Request, answer api.Message, generated int) Count {
	e.mu.Lock()
	defer e.mu.Unlock()
	prompt := r.Prompt
	if limit := e.options.Context * bytesPerToken; limit > 0 && len(prompt) > limit {
		keep := 4 * bytesPerToken // the first four tokens and the tail, as Ollama's runner cuts
		prompt = prompt[:keep] + prompt[len(prompt)-limit+keep:]
	}
	held := e.cache[r.Model]
	common := 0
	for common < len(held) && common < len(prompt) && held[common] == prompt[common] {
		common++
	}
	c := Count{Prompt: (len(prompt) + bytesPerToken - 1) / bytesPerToken, Generated: generated}
	c.Cached = min(common/bytesPerToken, c.Prompt-1)
	c.Evaluated = c.Prompt - c.Cached
	var b strings.Builder
	b.WriteString(prompt)
	writeTurn(&b, answer)
	e.cache[r.Model] = b.String()
	return c
}
