package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// scene is one workload on the engine.
type scene struct {
	*TTFT
	w      *Workload
	lookup *lookup           // for GAIA's rule; nil where that takes no part
	folder string            // for the daemons' databases
	taught map[string]bool   // strategies whose database knows the app
	meta   []json.RawMessage // tools that the daemon adds of its own
	seen   bool              // meta is known
	daemon int               // how many were started

	openingOnly bool // a cold trial ends with its first turn
}

// scene prepares a workload; rule says whether GAIA's rule takes part. The caller closes the scene.
func (m *TTFT) scene(ctx context.Context, w *Workload, rule bool) (*scene, error) {
	s := &scene{TTFT: m, w: w, taught: map[string]bool{}}
	var err error
	if rule {
		m.tell(fmt.Sprintf("embedding the catalog %s for GAIA's rule", w.Name))
		if s.lookup, err = newLookup(ctx, catalog.New(parsed(w.Tools)), w.Bundles, m.Options.Dense, defaultTau); err != nil {
			return nil, fmt.Errorf("embedding the catalog %q: %w", w.Name, err)
		}
	}
	if s.folder, err = os.MkdirTemp("", "toolbelt-ttft-"); err != nil {
		return nil, fmt.Errorf("making a folder for the daemons: %v", err)
	}
	return s, nil
}

func (s *scene) close() { _ = os.RemoveAll(s.folder) } // a folder of ours below the system's temporary one

// asking is one request of a scene.
type asking struct {
	name     string // of the step
	at       *url.URL
	daemon   *Daemon // in place of at, where not nil
	text     string  // of the last user message
	messages []json.RawMessage
	tools    []json.RawMessage
	needs    []string
	context  int
	cut      bool
}

// ask sends a request and returns the step and what reached the engine.
func (s *scene) ask(ctx context.Context, a asking) (Step, Sent, error) {
	at, before := a.at, ""
	if a.daemon != nil {
		at, before = a.daemon.URL, a.daemon.lastPrefixLine()
	}
	r, err := s.Target.Ask(ctx, Asked{At: at, Messages: a.messages, Tools: a.tools, Context: a.context, Cut: a.cut})
	if err != nil {
		return Step{}, Sent{}, err
	}
	sent, ok := s.Recorder.Take(a.text)
	if !ok {
		return Step{}, Sent{}, errors.New("reading what reached the engine: no such request did")
	}
	step := stepOf(a.name, r)
	if a.daemon != nil {
		step.Expected = a.daemon.foretold(ctx, before)
	}
	step.Tools = len(sent.Tools)
	for _, raw := range sent.Array {
		step.Array += len(raw)
	}
	for _, need := range a.needs {
		if !slices.Contains(sent.Tools, need) && !strings.Contains(sent.Texts, `"`+need+`"`) && !strings.Contains(sent.Texts, "\n"+need+"(") { // late-bound tools stand in messages
			step.Missing = append(step.Missing, need)
		}
	}
	return step, sent, nil
}

func stepOf(name string, r Reading) Step {
	step := Step{Name: name, TTFTMS: milliseconds(r.FirstToken), EvalMS: milliseconds(r.PromptEval), Evaluated: r.Evaluated, Cached: r.Cached, Estimated: r.Estimated, Truncated: r.Truncated}
	if r.PromptTokens > 0 {
		step.Prompt = &r.PromptTokens
	}
	return step
}

// repeat sends, straight at the engine, what reached it before.
func (s *scene) repeat(ctx context.Context, name string, sent Sent) (Step, error) {
	r, err := s.Target.Send(ctx, s.Recorded, sent.Path, sent.Body, s.Target.Context)
	if err != nil {
		return Step{}, err
	}
	s.Recorder.Take(sent.Said)
	step := stepOf(name, r)
	step.Tools = len(sent.Tools)
	return step, nil
}

// prove marks a step that is not proven to be cold.
func (s *Step) prove() {
	r := Reading{Evaluated: s.Evaluated, Cached: s.Cached, Estimated: s.Estimated}
	if s.Prompt != nil {
		r.PromptTokens = *s.Prompt
	}
	if ok, why := r.proven(); !ok {
		s.Why = why
	}
}

// start starts a daemon for the scene. key names its database: the same key, the same one; "" for a new one.
func (s *scene) start(ctx context.Context, strategy string, prewarm bool, key string) (*Daemon, error) {
	if s.daemon++; key == "" {
		key = fmt.Sprint(s.daemon)
	}
	folder := filepath.Join(s.folder, key)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for the daemon: %v", err)
	}
	return s.Start(ctx, DaemonSettings{
		Upstream: s.Recorded, Core: s.w.Core, Bundles: s.w.Bundles, Strategy: strategy, Prewarm: prewarm, Embedder: s.Options.Embedder, Folder: folder,
	})
}

// learnMeta keeps the tools that the daemon added to those of the app.
func (s *scene) learnMeta(sent Sent) {
	if s.seen {
		return
	}
	s.seen = true
	names := s.w.names()
	for _, raw := range sent.Array {
		if t, ok := catalog.ParseTool(raw); ok && !slices.Contains(names, t.Name) {
			s.meta = append(s.meta, raw)
		}
	}
}

// first is a turn that needs a tool which is not CORE, where there is one.
func (s *scene) first() WorkTurn {
	for _, t := range s.w.Turns {
		if len(without(t.Needs, s.w.Core)) > 0 {
			return t
		}
	}
	return s.w.Turns[0]
}

// base are the names of a list at the cap: CORE, then what the conversation needs, then the catalog's first.
func (s *scene) base() []string {
	var wanted []string
	for _, t := range s.w.Turns {
		wanted = append(wanted, t.Needs...)
	}
	order := kvcache.Order(nil, slices.Concat(s.w.Core, wanted, s.w.names()))
	return order[:min(len(order), s.Options.Cap)]
}

// array is the bytes of a list of ours: the meta-tools stand behind CORE.
func (s *scene) array(names []string) []json.RawMessage {
	core := 0
	for core < len(names) && slices.Contains(s.w.Core, names[core]) {
		core++
	}
	return slices.Concat(s.w.tools(names[:core]), s.meta, s.w.tools(names[core:]))
}

// gaiaLists are the lists of GAIA's rule, turn by turn.
func (s *scene) gaiaLists(ctx context.Context, turns []WorkTurn) ([][]string, error) {
	rule := newGAIA(s.lookup, s.w.Core, s.Options.Cap)
	talk := newTalk(OllamaAPI, s.w.System)
	var lists [][]string
	for _, t := range turns {
		r, err := chat.Decode(chat.Ollama, requestBody(talk.say(t.User), []byte("[]")))
		if err != nil {
			return nil, fmt.Errorf("reading the conversation: %w", err)
		}
		names, _, err := rule.turn(ctx, turn.Request{Chat: r})
		if err != nil {
			return nil, fmt.Errorf("choosing by GAIA's rule: %w", err)
		}
		lists = append(lists, names)
		rule.used(t.Needs)
		talk.answer(t)
	}
	return lists, nil
}
