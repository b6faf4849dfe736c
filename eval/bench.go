package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// Embedders are what tools are chosen by.
type Embedders struct {
	First  embed.Embedder // always asked: the builtin one, or an engine's in its place
	Engine *Vectors       // beside it; nil where only First is
}

// Dense is the embedder that the baselines with a single one use: the engine's where there is one.
func (e Embedders) Dense() embed.Embedder {
	if e.Engine != nil {
		return e.Engine
	}
	return e.First
}

// engine is the engine's embedder, in whatever place; nil where none takes part.
func (e Embedders) engine() *Vectors {
	if v, ok := e.First.(*Vectors); ok {
		return v
	}
	return e.Engine
}

// fetch embeds what is missing of the texts ahead, where an engine's embedder must be asked: in batches, interruptible, with progress.
func (e Embedders) fetch(ctx context.Context, kind embed.Kind, texts []string, progress func(done, of int)) error {
	if v := e.engine(); v != nil {
		return v.Fetch(ctx, kind, texts, progress)
	}
	return nil
}

// Learning is a learner that takes part in one replay. It starts with nothing learned.
type Learning struct {
	Learner turn.Learner
	Settle  func(context.Context) error // returns when all that the learner was told is learned, so that figures do not depend on time
	Close   func()
}

// NewLearning begins one. now is the replay's own clock, which is safe to read at any time.
type NewLearning func(ctx context.Context, e Embedders, now func() time.Time) (Learning, error)

// clock is the time of a replay, which passes only where it is told to.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(c.seconds.Load(), 0) }
func (c *clock) pass(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

// bench is one set made ready to choose from, exactly as the daemon would.
type bench struct {
	embedders Embedders
	tools     []byte // as an app sends them
	library   *ingest.Library
	snapshot  *turn.Snapshot
	clock     *clock
}

// newBench embeds the tools as they are read from an app's request. The caller closes the bench.
func newBench(ctx context.Context, tools []catalog.Tool, groups []bundles.Bundle, e Embedders) (*bench, error) {
	array, _ := toolsArray(tools)
	b := &bench{embedders: e, tools: array, clock: &clock{}}
	sent, err := b.request([]json.RawMessage{json.RawMessage(`{"role":"user","content":"hello"}`)}, "")
	if err != nil {
		return nil, err
	}
	return b, b.prepare(ctx, sent.Chat.Tools, groups)
}

// prepare makes the array ready. Where it fails there is nothing to close.
func (b *bench) prepare(ctx context.Context, sent []catalog.Tool, groups []bundles.Bundle) error {
	hash := catalog.Hash(sha256.Sum256(b.tools))
	cfg := ingest.Config{Builtin: b.embedders.First, Bundles: groups, Log: slog.New(slog.DiscardHandler)}
	if b.embedders.Engine != nil {
		cfg.Neural = b.embedders.Engine
	}
	library, err := ingest.New(cfg)
	if err != nil {
		return err
	}
	b.library = library
	if _, err = library.Snapshot(hash, sent); err == nil {
		err = library.Complete(ctx, hash)
	}
	if err == nil {
		b.snapshot, err = library.Snapshot(hash, sent)
	}
	if err != nil {
		library.Close()
	}
	return err
}

func (b *bench) close() { b.library.Close() }

// Snapshot implements turn.Snapshots: all requests of a bench bring the same array.
func (b *bench) Snapshot(catalog.Hash, []catalog.Tool) (*turn.Snapshot, error) {
	return b.snapshot, nil
}

func (b *bench) catalog() *catalog.Catalog { return b.snapshot.Catalog() }

// How much time passes between two requests of a session (the prefix still counts), and between two sessions.
const (
	betweenTurns    = 10 * time.Second
	betweenSessions = time.Hour
)

// planner returns a planner with sessions of its own. Plans have no deadline, and no array is too small to choose from.
func (b *bench) planner(policy turn.Policy, learner turn.Learner) *turn.Planner {
	policy.Budget, policy.SmallTokens = 0, -1
	parts := turn.Parts{Sessions: session.New(b.clock.now), Snapshots: b, Builtin: b.embedders.First, Learner: learner, QueryKey: []byte("eval")}
	if b.embedders.Engine != nil {
		parts.Neural = b.embedders.Engine
	}
	return turn.NewPlanner(policy, parts)
}

// request is what an app would send: these messages with all tools, in the named session.
func (b *bench) request(messages []json.RawMessage, sessionID string) (turn.Request, error) {
	body := requestBody(messages, b.tools)
	r, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		return turn.Request{}, fmt.Errorf("reading the messages as a request: %w", err)
	}
	return turn.Request{Body: body, Chat: r, Identity: session.Identity{
		Family: chat.Ollama.Family(), Model: r.Model, Agent: "eval", Explicit: sessionID, Chain: chat.Chain(r), Continues: r.Continues, Body: sha256.Sum256(body),
	}}, nil
}

func requestBody(messages []json.RawMessage, tools []byte) []byte {
	body := bytes.NewBuffer(make([]byte, 0, len(tools)+4096))
	body.WriteString(`{"model":"eval","messages":[`)
	for i, m := range messages {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(m)
	}
	body.WriteString(`],"tools":`)
	body.Write(tools)
	body.WriteByte('}')
	return body.Bytes()
}

// toolsArray writes tools as an app sends them to an Ollama, and tells where in the array each begins and ends.
func toolsArray(tools []catalog.Tool) (array []byte, spans [][2]int) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, t := range tools {
		if i > 0 {
			out.WriteByte(',')
		}
		start := out.Len()
		name, _ := json.Marshal(t.Name) // strings always can
		description, _ := json.Marshal(t.Description)
		fmt.Fprintf(&out, `{"type":"function","function":{"name":%s,"description":%s`, name, description)
		if len(t.Schema) > 0 {
			fmt.Fprintf(&out, `,"parameters":%s`, t.Schema)
		}
		out.WriteString(`}}`)
		spans = append(spans, [2]int{start, out.Len()})
	}
	out.WriteByte(']')
	return out.Bytes(), spans
}

// texts are a catalog's texts, all of each tool's.
func texts(tools []catalog.Tool) []string {
	var list []string
	for _, t := range tools {
		for _, text := range t.Texts() {
			list = append(list, text)
		}
	}
	return list
}
