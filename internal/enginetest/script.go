package enginetest

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/ollama/ollama/api"
)

// Round is what the engine's model does in answer to one request. The zero Round says nothing and ends.
type Round struct {
	Thinking string
	Text     string
	Calls    []Call
	Reason   string // why generation stops: "stop", "length"; "" for "stop"
	Tokens   int    // generated; 0 to count what is said. With nothing said: tokens that the engine could make nothing of

	Status int    // not 0 and not 200: the answer is this status with Error, and nothing else
	Error  string // with Status 0: the stream breaks off with this error, in the engine's own way, behind what was said

	CutAfter int             // the connection breaks after so many bytes of the body; 0 never, -1 before the first
	Stall    <-chan struct{} // the answer waits until this is closed or the client is gone; nil for no stall
	StallAt  int             // bytes of the body that go out before the stall
}

// Call is one tool call of the model.
type Call struct {
	Name      string
	Arguments string // JSON of an object; "" is {}; what is none, llama.cpp passes on and Ollama makes {}
	ID        string // "" for one that the engine makes
}

// Script decides each round, given the request. It is called once a request, for one request at a time.
type Script func(r *Request) Round

// InOrder is the script that answers the first request with the first round and so on. Requests for a single token (see Request.Limit), which
// only warm the engine up, are answered with one and use no round up. Behind the last round it answers 500.
func InOrder(rounds ...Round) Script {
	var mu sync.Mutex
	next := 0
	return func(r *Request) Round {
		mu.Lock()
		defer mu.Unlock()
		if r.Limit == 1 {
			return Round{Text: "O", Reason: "length"}
		}
		if next == len(rounds) {
			return Round{Status: http.StatusInternalServerError, Error: fmt.Sprintf("the script has only %d rounds", len(rounds))}
		}
		next++
		return rounds[next-1]
	}
}

// Request is one chat request as the engine understood it.
type Request struct {
	Protocol Protocol
	Header   http.Header
	Body     []byte // as it came
	Model    string
	Stream   bool
	Limit    int           // tokens to generate at most, 0 for no limit
	Messages []api.Message // as the model sees them
	Tools    []string      // names, in the order of the array
	Prompt   string        // as it was rendered
	Count    Count
	Answer   Round // what the script said to it

	done chan struct{}
}

// Done is closed when the answer has been written, or the client is gone.
func (r *Request) Done() <-chan struct{} { return r.done }

// Last returns the newest message; the zero one where there is none.
func (r *Request) Last() api.Message {
	if len(r.Messages) == 0 {
		return api.Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Count is what the engine counts of one request, in tokens.
type Count struct {
	Prompt    int // whole
	Cached    int // of it reused
	Evaluated int // the rest, 1 at least
	Generated int
}
