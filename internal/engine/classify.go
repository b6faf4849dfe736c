package engine

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
	"github.com/ollama/ollama/model/renderers"
	"github.com/ollama/ollama/template"

	"toolbelt/kvcache"
)

// Bounds of what a template may take: it comes from outside.
const (
	maxTemplateBytes = 256 << 10
	maxRenderedBytes = 1 << 20
	renderTime       = 2 * time.Second
)

// The marks that stand in the probe conversations: where each turns up in what a template renders says what goes where.
const (
	systemMark    = "markofthesystem"
	toolMark      = "markofthetool"
	firstUserMark = "markofthefirstquestion"
	answerMark    = "markoftheanswer"
	lastUserMark  = "markofthelastquestion"
	resultMark    = "markoftheresult"
)

// render gives the text of a conversation that ends in a question, or in a tool's result; with a system text or without.
type render func(endsInResult, system bool) (string, error)

// classifyOllama says where a model of Ollama's has its tools. renderer names a renderer built into Ollama, which counts more than the template; "" for none.
func classifyOllama(text, renderer string) kvcache.Facts {
	if renderer != "" {
		return classify(func(endsInResult, system bool) (string, error) {
			return renderers.RenderWithRenderer(renderer, conversation(endsInResult, system), probeTools(), nil)
		})
	}
	if len(text) > maxTemplateBytes || strings.TrimSpace(text) == "" {
		return kvcache.Facts{}
	}
	return classify(func(endsInResult, system bool) (string, error) {
		parsed, err := template.Parse(text)
		if err != nil {
			return "", err
		}
		var b limited
		err = parsed.Execute(&b, template.Values{Messages: conversation(endsInResult, system), Tools: probeTools()})
		return b.String(), err
	})
}

// classifyJinja says where a Jinja chat template has its tools. One that cannot be rendered is judged by its words, where they leave no doubt.
func classifyJinja(text string) kvcache.Facts {
	if len(text) > maxTemplateBytes || strings.TrimSpace(text) == "" {
		return kvcache.Facts{}
	}
	if !renderable(text) {
		return byWords(text)
	}
	f := kvcache.Facts{}
	for _, argumentsAsText := range []bool{false, true} { // templates differ in what they take
		f = classify(func(endsInResult, system bool) (string, error) {
			parsed, err := jinja.Compile(text)
			if err != nil {
				return "", err
			}
			return parsed.Render(jinjaData(endsInResult, system, argumentsAsText))
		})
		if f.Placement != kvcache.PlacementUnknown {
			return f
		}
	}
	return byWords(text)
}

// byWords judges a Jinja template by where it speaks of tools: only before its loop over the messages, or nowhere.
func byWords(text string) kvcache.Facts {
	loop := -1
	if at := regexp.MustCompile(`\bin\s+\w*messages\b`).FindStringIndex(text); at != nil {
		loop = at[0]
	}
	switch last := strings.LastIndex(text, "tools"); {
	case last < 0 && loop >= 0:
		return kvcache.Facts{Placement: kvcache.NoTools}
	case last >= 0 && last < loop:
		return kvcache.Facts{Placement: kvcache.BeforeConversation}
	}
	return kvcache.Facts{}
}

// classify renders the probes and reads the marks. A template that cannot be rendered leaves everything unknown.
func classify(r render) kvcache.Facts {
	system := true
	question, err := guarded(r, false, true)
	if err != nil {
		system = false // some templates take none
		if question, err = guarded(r, false, false); err != nil {
			return kvcache.Facts{}
		}
	}
	result, err := guarded(r, true, system)
	if err != nil {
		result = ""
	}
	tool, first, last := strings.Index(question, toolMark), strings.Index(question, firstUserMark), strings.Index(question, lastUserMark)
	if last < 0 {
		return kvcache.Facts{}
	}
	if tool < 0 {
		if result != "" && strings.Contains(result, toolMark) {
			return kvcache.Facts{}
		}
		return kvcache.Facts{Placement: kvcache.NoTools}
	}
	f := kvcache.Facts{DropsAfterResult: result != "" && !strings.Contains(result, toolMark)}
	if first < 0 {
		return kvcache.Facts{} // the history is not rendered: nothing can be said
	}
	f.Placement = placed(question, result, tool, first)
	if at := strings.Index(question, systemMark); at >= 0 {
		f.ToolsFirst = f.Placement == kvcache.BeforeConversation && tool < at
		f.SystemLast = at > strings.Index(question, answerMark)
	}
	return f
}

// placed tells the places of a tool that is rendered.
func placed(question, result string, tool, first int) kvcache.Placement {
	switch {
	case tool < first:
		return kvcache.BeforeConversation
	case tool < strings.Index(question, answerMark):
		return kvcache.PlacementUnknown // in the middle
	case strings.Contains(result, toolMark) && strings.Index(result, toolMark) > strings.Index(result, resultMark) && strings.Contains(result, resultMark):
		return kvcache.AfterHistory
	}
	return kvcache.LastUser
}

// guarded renders within bounds: what panics, takes too long or writes too much is an error. One that takes too long is left to itself.
func guarded(r render, endsInResult, system bool) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{"", fmt.Errorf("rendering a template: %v", p)}
			}
		}()
		text, err := r(endsInResult, system)
		if len(text) > maxRenderedBytes {
			text = text[:maxRenderedBytes]
		}
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-time.After(renderTime):
		return "", errors.New("rendering a template takes too long")
	}
}

// limited is a builder that takes so much and no more.
type limited struct{ strings.Builder }

func (b *limited) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxRenderedBytes {
		return 0, io.ErrShortWrite
	}
	return b.Builder.Write(p)
}
