package turn

import (
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
)

// Passed notes a chat that goes on without a plan: the engine holds its prompt from now on.
func (p *Planner) Passed(r *chat.Request, id session.Identity) {
	p.Prefix.Sent(promptOf(nil, r, "passed "+id.App(), id.App()))
}

// answered tells what the engine said of the plan's prompt. hidden: the engine is asked again within the same answer.
func (p *Planner) answered(plan *Plan, o Outcome, hidden bool) {
	verdict := p.Prefix.Answered(plan.prompt, kvcache.Answer{
		PromptTokens: o.Usage.PromptTokens, CachedTokens: o.Usage.CachedTokens, EvaluatedTokens: o.Usage.Evaluated,
		OutputTokens: o.Usage.OutputTokens, PromptDuration: o.Usage.PromptDuration,
		Refused: o.Refused || o.Unread, Dropped: !o.Refused && !o.Unread && !o.Usage.Done && o.Text == "" && len(o.Called) == 0,
	})
	if p.Recorder != nil && o.Usage.PromptTokens > 0 {
		p.Recorder.Answered(plan, verdict)
		if m, ok := p.Recorder.(Meter); ok {
			m.Spent(plan, Spent{Usage: o.Usage, Verdict: verdict, Later: plan.later, Hidden: hidden})
		}
	}
}

// promptOf is a request as it came, as the engine's cache sees it. body may be nil where there are no tools.
func promptOf(body []byte, r *chat.Request, sessionID, app string) kvcache.Prompt {
	p := kvcache.Prompt{
		Session: sessionID, App: app, Model: r.Model, Options: r.Options, Context: r.ContextTokens, KeepAlive: keepAlive(r.KeepAlive),
	}
	for _, e := range r.Elements {
		if e.End <= len(body) {
			p.Tools = append(p.Tools, piece(body[e.Start:e.End], kvcache.Tool))
		}
	}
	for _, m := range r.Messages {
		if one := messagePiece(m); one.Role == kvcache.System {
			p.System = append(p.System, one)
		} else {
			p.Messages = append(p.Messages, one)
		}
	}
	return p
}

// keepAlive reads Ollama's keep_alive: seconds, or a duration in a string.
func keepAlive(raw string) time.Duration {
	if raw == "" {
		return 0
	}
	d, err := time.ParseDuration(strings.Trim(raw, `"`))
	if err != nil {
		seconds, err := strconv.ParseFloat(strings.Trim(raw, `"`), 64)
		if err != nil {
			return 0
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d == 0 {
		return kvcache.Unload
	}
	return d
}

func piece(content []byte, role kvcache.Role) kvcache.Piece {
	p := kvcache.Piece{Hash: hashOf(content), Bytes: len(content), Role: role}
	if role != kvcache.Tool { // a tool's bytes say what it costs
		p.Signs = kvcache.Signs(content)
	}
	return p
}

func hashOf(content []byte) uint64 { return maphash.Bytes(pieceSeed, content) }

// pieceSeed makes the hashes of this process's pieces.
var pieceSeed = maphash.MakeSeed()

func messagePiece(m chat.Message) kvcache.Piece {
	role := kvcache.User
	switch m.Role {
	case chat.RoleSystem:
		role = kvcache.System
	case chat.RoleAssistant:
		role = kvcache.Assistant
	case chat.RoleTool:
		role = kvcache.Result
	}
	return kvcache.Piece{Hash: binary.LittleEndian.Uint64(m.Hash[:]), Bytes: m.Bytes, Signs: m.Signs, Calls: len(m.Calls), Role: role}
}
