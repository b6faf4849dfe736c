package engine

import (
	"strings"
	"testing"

	"toolbelt/kvcache"
)

// The templates below have the shapes of well-known families; they are written for this test.
const (
	chatML = `{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}
Functions:
{{- range .Tools }}
{"type": "function", "function": {{ json .Function }}}
{{- end }}
{{- end }}<|im_end|>
{{ end }}
{{- range .Messages }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ .Content }}{{ range .ToolCalls }}<tool_call>{{ .Function.Name }} {{ json .Function.Arguments }}</tool_call>{{ end }}<|im_end|>
{{ else if eq .Role "tool" }}<|im_start|>user
<tool_response>{{ .Content }}</tool_response><|im_end|>
{{ end }}
{{- end }}<|im_start|>assistant
`
	// inLastUser shows the tools in the last message, where that is the user's.
	inLastUser = `{{- if .System }}<|head|>system
{{ .System }}<|end|>{{ end }}
{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if eq .Role "user" }}<|head|>user
{{ if and $.Tools $last }}You may call:
{{ range $.Tools }}{{ . }}
{{ end }}Question: {{ end }}{{ .Content }}<|end|>
{{- else if eq .Role "assistant" }}<|head|>assistant
{{ .Content }}{{ range .ToolCalls }}{"name": "{{ .Function.Name }}"}{{ end }}<|end|>
{{- else if eq .Role "tool" }}<|head|>ipython
{{ .Content }}<|end|>
{{- end }}
{{- end }}<|head|>assistant
`
	// beforeLastUser has tools and system text around the last message, whatever follows the user's.
	beforeLastUser = `{{- $at := -1 }}{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}{{ $at = $i }}{{ end }}{{ end }}
{{- range $i, $m := .Messages }}
{{- if eq $m.Role "user" }}
{{- if and (eq $i $at) $.Tools }}[AVAILABLE]{{ $.Tools }}[/AVAILABLE]{{ end }}[INST] {{ if and (eq $i $at) $.System }}{{ $.System }}

{{ end }}{{ $m.Content }}[/INST]
{{- else if eq $m.Role "assistant" }}{{ $m.Content }}{{ range .ToolCalls }}[CALLS]{{ .Function.Name }}{{ end }}</s>
{{- else if eq $m.Role "tool" }}[RESULTS]{{ $m.Content }}[/RESULTS]
{{- end }}
{{- end }}`
	// preamble has the tools before the system text, and messages after both.
	preamble = `<|START|>{{ if .Tools }}## Tools
{{ range .Tools }}def {{ .Function.Name }}(): """{{ .Function.Description }}"""
{{ end }}{{ end }}{{ if .System }}## Preamble
{{ .System }}{{ end }}<|END|>
{{- range .Messages }}{{ if ne .Role "system" }}<|{{ .Role }}|>{{ .Content }}{{ end }}{{ end }}<|CHATBOT|>`
	// noTools folds the system text into the first message and knows no tools.
	noTools = `{{- range $i, $_ := .Messages }}{{ if ne .Role "system" }}<turn>{{ .Role }}
{{ if and (eq $i 1) $.System }}{{ $.System }}

{{ end }}{{ .Content }}</turn>
{{ end }}{{ end }}<turn>model
`
	atEnd = `{{ .System }}{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}{{ if .Tools }}Tools: {{ .Tools }}{{ end }}<assistant>`
)

func TestClassifyOllama(t *testing.T) {
	before := kvcache.Facts{Placement: kvcache.BeforeConversation}
	for _, c := range []struct {
		name, text, renderer string
		want                 kvcache.Facts
	}{
		{"tools in the first system block", chatML, "", before},
		{"tools in the last message if it is the user's", inLastUser, "", kvcache.Facts{Placement: kvcache.LastUser, DropsAfterResult: true}},
		{"tools and system text at the last user message", beforeLastUser, "", kvcache.Facts{Placement: kvcache.LastUser, SystemLast: true}},
		{"tools before the system text", preamble, "", kvcache.Facts{Placement: kvcache.BeforeConversation, ToolsFirst: true}},
		{"no tools", noTools, "", kvcache.Facts{Placement: kvcache.NoTools}},
		{"tools after everything", atEnd, "", kvcache.Facts{Placement: kvcache.AfterHistory}},
		{"of the old kind, a prompt and no messages", "{{ .System }} USER: {{ .Prompt }} ASSISTANT: {{ .Response }}", "", kvcache.Facts{Placement: kvcache.NoTools}},
		{"what Ollama renders by itself", "{{ .Prompt }}", "qwen3-coder", kvcache.Facts{Placement: kvcache.BeforeConversation}},
		{"a renderer that is not known here", chatML, "of-the-year-2099", kvcache.Facts{}},
		{"nothing", "", "", kvcache.Facts{}},
		{"not a template", "{{ if }", "", kvcache.Facts{}},
		{"fields that are not there", "{{ .Nothing.AtAll }}{{ range .Messages }}{{ .Content }}{{ end }}", "", kvcache.Facts{}},
		{"a function that is not there", "{{ shout .System }}", "", kvcache.Facts{}},
		{"a template that fails", `{{ range .Messages }}{{ index .Content 99999 }}{{ end }}`, "", kvcache.Facts{}},
		{"a template without end", `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}{{ range .Messages }}{{ end }}`, "", kvcache.Facts{}},
		{"a template that floods", `{{ range .Messages }}{{ range 1000000000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}{{ end }}`, "", kvcache.Facts{}},
		{"a template too large", strings.Repeat("x", maxTemplateBytes) + chatML, "", kvcache.Facts{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := classifyOllama(c.text, c.renderer); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

const (
	jinjaChatML = `{%- if tools %}<|im_start|>system
{%- if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{%- endif %}
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{%- elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{%- elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{%- endfor %}<|im_end|>
{%- elif message.role == 'tool' %}<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	jinjaLastUser = `{%- set ns = namespace(last=-1) %}{%- for m in messages %}{%- if m.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}
{{- bos_token }}
{%- for m in messages %}
{%- if m.role == 'user' %}
{%- if tools is defined and loop.index0 == ns.last %}[AVAILABLE]{{ tools | tojson }}[/AVAILABLE]{%- endif %}[INST]{{ m.content }}[/INST]
{%- elif m.role == 'assistant' and not m.tool_calls %}{{ m.content }}{{ eos_token }}
{%- elif m.role == 'tool' %}{%- if m.tool_call_id|length != 9 %}{{ raise_exception('ids have nine letters') }}{%- endif %}[RESULTS]{{ m.content }}[/RESULTS]
{%- endif %}
{%- endfor %}`
	jinjaNoSystem = `{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{%- endif %}
{%- for m in messages %}<turn>{{ m.role }}
{{ m.content }}</turn>
{%- endfor %}`
	jinjaArguments = `{{ tools | tojson }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}{{ 'x' + c.function.arguments }}{% endfor %}{% endfor %}`
)

func TestClassifyJinja(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       kvcache.Facts
	}{
		{"tools in the first system block", jinjaChatML, kvcache.Facts{Placement: kvcache.BeforeConversation}},
		{"tools before the last user message", jinjaLastUser, kvcache.Facts{Placement: kvcache.LastUser}},
		{"no tools and no system text", jinjaNoSystem, kvcache.Facts{Placement: kvcache.NoTools}},
		{"arguments as text", jinjaArguments, kvcache.Facts{Placement: kvcache.BeforeConversation, ToolsFirst: true}},
		{"one that cannot be read, with tools before the loop", `{% tools %}{{ tools }}{% for m in messages %}{% frobnicate %}`, kvcache.Facts{Placement: kvcache.BeforeConversation}},
		{"one that cannot be read, with tools in the loop", `{% for m in messages %}{% frobnicate tools %}`, kvcache.Facts{}},
		{"one that cannot be read, without tools", `{% for m in messages %}{% frobnicate %}`, kvcache.Facts{Placement: kvcache.NoTools}},
		{"nothing", "", kvcache.Facts{}},
		{"no template at all", "hello", kvcache.Facts{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := classifyJinja(c.text); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A macro that never ends would take the process down with it.
func TestClassifyRefusesToRunInCircles(t *testing.T) {
	const loop = "{% for m in messages %}{{ m.content }}{% endfor %}"
	for name, text := range map[string]string{
		"a macro that calls itself":     "{% macro a(x) %}{{ a(x) }}{% endmacro %}{{ a(tools) }}" + loop,
		"two that call each other":      "{% macro a(x) %}{{ b(x) }}{% endmacro %}{% macro b(x) %}{{ a(x) }}{% endmacro %}{{ a(tools) }}" + loop,
		"a macro of two names":          "{% macro a(x, f) %}{{ f(x, f) }}{% endmacro %}{{ a(tools, a) }}" + loop,
		"a macro that calls its caller": "{% macro a() %}{{ caller() }}{% endmacro %}{% call a() %}{{ tools }}{% call a() %}{% endcall %}{% endcall %}" + loop,
		"a loop that calls itself":      "{% for x in [tools] recursive %}{{ loop([1]) }}{% endfor %}" + loop,
		"very deep brackets":            "{{ " + strings.Repeat("(", 50_000) + "tools" + strings.Repeat(")", 50_000) + " }}" + loop,
		"very deep blocks":              strings.Repeat("{% if tools %}", 5_000) + loop,
	} {
		t.Run(name, func(t *testing.T) {
			if renderable(text) {
				t.Fatal("it would be rendered")
			}
			if got := classifyJinja(text).Placement; got != kvcache.BeforeConversation {
				t.Errorf("by its words the tools stand %s", got)
			}
		})
	}
	if !renderable("{% macro a(x) %}{{ x }}{% endmacro %}{% macro b(x) %}{{ a(x) }}{% endmacro %}{{ b(tools) }}" + loop) {
		t.Error("macros that call others are refused")
	}
}

func FuzzClassify(f *testing.F) {
	for _, text := range []string{chatML, inLastUser, jinjaChatML, jinjaLastUser, "{{", "{% for x in range(3) %}{{ x }}{% endfor %}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		for _, facts := range []kvcache.Facts{classifyOllama(text, ""), classifyJinja(text)} {
			if facts.Placement > kvcache.NoTools {
				t.Errorf("%q gives the placement %d", text, facts.Placement)
			}
		}
	})
}
