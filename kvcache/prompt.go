package kvcache

import (
	"hash/maphash"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Role says what a piece of a prompt is.
type Role byte

// The roles. System text is told apart because engines gather it at one place.
const (
	System    Role = 's'
	User      Role = 'u'
	Assistant Role = 'a'
	Result    Role = 'r' // of a tool
	Tool      Role = 't' // a definition; set by this package
)

// Piece is one message or one tool, by its content: of a message the text and the calls that the template shows, of a tool its JSON. Two pieces are the same where all
// fields are. Belief.Piece makes one.
type Piece struct {
	Hash  uint64
	Bytes int
	Signs int  // of a message's bytes, those that are digits, punctuation or not ASCII: they cost more tokens than letters do; of a tool nobody asks for them
	Calls int  // of tools, in a message of the assistant: templates put marks and field names around each
	Tools int  // bytes of definitions that stand in a message, not counted in Bytes and Signs
	Role  Role // of a message; in Prompt.Tools it is ignored
}

// Piece is the piece of a text. Pieces of different Beliefs are not to be mixed. Cost: about a nanosecond a byte.
func (b *Belief) Piece(role Role, text []byte) Piece {
	return Piece{Hash: maphash.Bytes(b.seed, text), Bytes: len(text), Signs: Signs(text), Role: role}
}

// Signs counts the bytes of a text that are digits, punctuation or not ASCII.
func Signs(text []byte) int {
	signs := 0
	for _, c := range text {
		if c > ' ' && (c|0x20 < 'a' || c|0x20 > 'z') {
			signs++
		}
	}
	return signs
}

// Prompt is one request, as far as the engine's cache is concerned. The slices are read, never kept or changed.
type Prompt struct {
	Session string
	App     string
	Model   string // as the request names it; a trailing ":latest" says nothing
	Options string // what besides Context makes the engine load the model anew where it differs (see LoadOptions); "" for the model's defaults
	Context int    // tokens of context that the request asks for (num_ctx), 0 where it does not

	System   []Piece // all of the request's system texts
	Tools    []Piece // in the order sent
	Messages []Piece // the others, in order

	At        time.Time     // when it is sent; zero: now
	KeepAlive time.Duration // as the request has it: 0 not given, below 0 never ends, Unload for an explicit zero
}

// Unload is the KeepAlive of a request that says zero: the model goes as soon as it has answered.
const Unload = time.Nanosecond

// Expected is what a request would cost the engine now, in estimated tokens.
type Expected struct {
	Prompt    int // the whole
	Kept      int // of it, held already
	Evaluated int // the rest, at least 1
	KeptBytes int // of the pieces held whole
	KeptTools int // how many of Prompt.Tools, from the first, are held: with 0 their order is free to change

	// Lost says why nothing of what the session sent before is held, in a few words, and is "" where something is. Kept may still be above 0: what this
	// conversation shares with the one that the engine holds.
	Lost string
}

// The values of Expected.Lost.
const (
	NeverSeen      = "never seen"
	OtherRequest   = "another conversation"
	Unloaded       = "model unloaded"
	OptionsChanged = "options changed"
	KeepAliveOver  = "keep-alive over"
	Restarted      = "engine restarted"
	Overflowed     = "context overflow"
	Rewound        = "cannot rewind" // a model with a sliding window or a running state goes on exactly where it stopped, or starts anew
	Changed        = "beginning changed"
)

// LoadOptions returns, in one form, those of a request's options (Ollama's "options" object) that an engine loads a model with, num_ctx aside: two requests for
// which it differs do not share what is held. What is no object is "".
func LoadOptions(options []byte) string {
	var b strings.Builder
	for _, name := range [...]string{"num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread"} {
		if v := gjson.GetBytes(options, name); v.Exists() && v.Type != gjson.Null {
			b.WriteString(name + "=" + v.Raw + " ")
		}
	}
	return b.String()
}

// maxPieces bounds what is kept of one prompt.
const maxPieces = 8192

// sequence is the order in which the pieces stand in what the engine reads. Cost: linear, one allocation.
func sequence(p Prompt, f Facts) []Piece {
	last := len(p.Messages) // where the last user message stands
	for last > 0 && p.Messages[last-1].Role != User {
		last--
	}
	last = max(0, last-1)
	place := f.Placement
	switch {
	case f.DropsAfterResult && len(p.Messages) > 0 && p.Messages[len(p.Messages)-1].Role != User:
		place = NoTools
	case place == PlacementUnknown:
		place = BeforeConversation
	}
	s := make([]Piece, 0, len(p.System)+len(p.Tools)+len(p.Messages))
	add := func(here bool, pieces []Piece, role Role) {
		if !here {
			return
		}
		for _, piece := range pieces {
			if role != 0 {
				piece.Role = role
			}
			s = append(s, piece)
		}
	}
	add(place == BeforeConversation && f.ToolsFirst, p.Tools, Tool)
	add(!f.SystemLast, p.System, System)
	add(place == BeforeConversation && !f.ToolsFirst, p.Tools, Tool)
	add(true, p.Messages[:last], 0)
	add(place == LastUser, p.Tools, Tool)
	add(f.SystemLast, p.System, System)
	add(true, p.Messages[last:], 0)
	add(place == AfterHistory, p.Tools, Tool)
	return s[:min(len(s), maxPieces)]
}
