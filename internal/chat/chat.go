// Package chat reads and edits the request and response shapes of local engines: which bytes of a
// request are its tools, what the user said, which tools were called; and it cuts the tools array
// without touching another byte. All of it is pure.
package chat

import (
	"toolbelt/catalog"
)

// Protocol is the API family of a path.
type Protocol uint8

// The protocols whose requests are edited.
const (
	Unknown Protocol = iota
	Ollama           // POST /api/chat
	OpenAI           // POST /v1/chat/completions and /api/v1/chat/completions
)

// Family is the protocol's name in session keys and logs: "ollama" or "openai".
func (p Protocol) Family() string {
	switch p {
	case Ollama:
		return "ollama"
	case OpenAI:
		return "openai"
	}
	return "unknown"
}

// Choice is what the request's tool_choice asks for.
type Choice uint8

// An omitted tool_choice is Auto.
const (
	Auto Choice = iota
	NoTools
	Required
	Named
)

// Element is one element of the request's tools array.
type Element struct {
	Start, End int    // body[Start:End] is its exact JSON
	Key        string // the tool's name; for what is not ours to choose, a key that begins with a zero byte and is the same for the same bytes
}

// Selectable reports whether the element is a function tool with a name.
func (e Element) Selectable() bool { return e.Key == "" || e.Key[0] != 0 }

// Request is what Decode reads from a body. Slices and strings do not alias the body, which may be reused.
type Request struct {
	Protocol Protocol
	Model    string
	Stream   bool

	Tools      []catalog.Tool // the selectable ones, in the client's order, twins included
	Elements   []Element      // every element, in the client's order
	ToolsStart int            // body[ToolsStart:ToolsEnd] is the tools array, brackets included; both 0 without one
	ToolsEnd   int

	Choice      Choice
	ChoiceNames []string // every tool that tool_choice names, whatever Choice is: each is to stay visible

	Users     []string // text of each user message, in order; parts joined by newlines, images left out
	Continues bool     // a message of the model or of a tool follows the last user message: the turn goes on
	Called    []string // distinct tools that the history calls, most recent first, at most 8
	Failed    []string // those whose latest result since the last user message looks like an error

	ContextTokens int // options.num_ctx, 0 where not given
	MessageBytes  int // length of the messages array
}

// HasTools reports whether there is a tools array with at least one selectable tool.
func (r *Request) HasTools() bool { return len(r.Tools) > 0 }

// ProtocolOf returns the protocol of a request's path, without query, as the client sends it. Only the exact
// paths are known: a trailing slash, another version or another prefix is Unknown and goes on unedited.
func ProtocolOf(path string) Protocol {
	switch path {
	case "/api/chat":
		return Ollama
	case "/v1/chat/completions", "/api/v1/chat/completions":
		return OpenAI
	}
	return Unknown
}
