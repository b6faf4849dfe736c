// Package chat reads and edits the request and response shapes of local engines: which bytes of a
// request are its tools and its messages, what the user said, which tools were called; and it cuts the tools array and
// puts messages of ours among the app's without touching another byte. All of it is pure.
package chat

import (
	"toolbelt/catalog"
)

// Protocol is the API family of a path.
type Protocol uint8

// The protocols whose requests are edited.
const (
	Unknown   Protocol = iota
	Ollama             // POST /api/chat
	OpenAI             // POST /v1/chat/completions and /api/v1/chat/completions
	Responses          // POST /v1/responses and /api/v1/responses
	Anthropic          // POST /v1/messages and /api/v1/messages
)

// Family is the protocol's name in session keys and logs: "ollama", "openai", "responses" or "anthropic".
func (p Protocol) Family() string {
	switch p {
	case Ollama:
		return "ollama"
	case OpenAI:
		return "openai"
	case Responses:
		return "responses"
	case Anthropic:
		return "anthropic"
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
	Deferred   bool   // "defer_loading": true: the app wants it hidden until it is selected or asked for
}

// Selectable reports whether the element is a function tool with a name.
func (e Element) Selectable() bool { return e.Key == "" || e.Key[0] != 0 }

// Role is who speaks in a message.
type Role uint8

// The roles. A user message of Anthropic's that holds nothing but results of tools is RoleTool, asides of the app's beside them or not.
const (
	RoleOther Role = iota
	RoleSystem
	RoleUser
	RoleAssistant
	RoleTool
)

// HistoryCall is one call of an assistant message. Either may be "" where the app gave none.
type HistoryCall struct{ ID, Name string }

// Message is one element of the messages array; for Responses, of input.
type Message struct {
	Start, End int // body[Start:End] is its exact JSON
	Role       Role

	// Hash is over the role, the text and the calls' names and arguments, JSON white space and the spelling of
	// strings aside. It stays the same when the app writes the message anew: other order of fields, null or "" or no
	// content, a string or text parts, ids, and fields that are not named here do not count.
	Hash  catalog.Hash
	Bytes int           // of the text and the calls
	Signs int           // of these, digits, punctuation and what is not ASCII (kvcache.Signs)
	Calls []HistoryCall // one for each element of the calls, in order
}

// Request is what Decode reads from a body. Slices and strings do not alias the body, which may be reused.
type Request struct {
	Protocol Protocol
	Model    string
	Stream   bool
	Several  bool // it asks for more than one answer to choose from: "n" of OpenAI's chat
	Loading

	Tools      []catalog.Tool // the selectable ones, in the client's order, twins included
	Elements   []Element      // every element, in the client's order
	ToolsStart int            // body[ToolsStart:ToolsEnd] is the tools array, brackets included; both 0 without one
	ToolsEnd   int
	ToolSearch string // key of the element that is one of Anthropic's tool-search tools, "" without one

	Choice      Choice
	ChoiceNames []string // every tool that tool_choice names, whatever Choice is: each is to stay visible

	Users        []string // text of each user message, in order; parts joined by newlines, images left out
	MessageBytes int      // length of the messages array
	History
}

// History is the conversation of a request, message by message.
type History struct {
	Replies       []string  // Signature of the model's first answer to each user message, as far as there is one; "" where there is none
	Messages      []Message // every element of the messages array, in order; one for an input that is a string
	MessagesStart int       // body[MessagesStart:MessagesEnd] is the array, or the string; both 0 without one
	MessagesEnd   int

	Continues bool     // a message of the model or of a tool follows the last user message: the turn goes on
	Called    []string // distinct tools that the history calls, most recent first, at most 8
	Failed    []string // those whose latest result since the last user message looks like an error

	TextBytes        int    // of all text that the conversation brings into the prompt: system text, messages, calls
	SystemBytes      int    // of these, system text
	PreviousResponse string // previous_response_id of Responses, "" where not given
}

// Loading is what decides how and for how long an engine loads the model.
type Loading struct {
	ContextTokens int    // options.num_ctx, 0 where not given
	Options       string // those of Ollama's options for whose change it reloads the model: "num_ctx=8192,num_thread=4", sorted; "" for none
	KeepAlive     string // the value of keep_alive as it stands in the body, "" where not given
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
	case "/v1/responses", "/api/v1/responses":
		return Responses
	case "/v1/messages", "/api/v1/messages":
		return Anthropic
	}
	return Unknown
}
