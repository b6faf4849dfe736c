package embed

import "context"

// Status is how a neural embedder does, for people and dashboards.
type Status struct {
	State     string  `json:"state"` // "off", "opening", "ready", "dropped" or "closed"
	Model     string  `json:"model,omitempty"`
	Digest    string  `json:"digest,omitempty"`
	Dim       int     `json:"dimensions,omitempty"`
	Breaker   string  `json:"breaker,omitempty"`    // "closed" (all is well), "open" or "half-open"
	Queries   int     `json:"queries"`              // asked while it was ready
	InTime    int     `json:"in_time"`              // of them answered within the deadline, from the cache or not
	Share     float64 `json:"in_time_share"`        // InTime / Queries; 0 without queries
	LateCalls int     `json:"late_calls"`           // calls that still run though nobody waits for them
	Cached    int     `json:"cached"`               // query vectors in the cache
	LastError string  `json:"last_error,omitempty"` // of the last failure, also where it has worked since
	Dropped   string  `json:"dropped,omitempty"`    // why it is not used any more
}

// Status returns the state of this moment.
func (n *Neural) Status() Status {
	n.mu.Lock()
	state := n.state
	n.mu.Unlock()
	s := Status{
		State: "ready", Breaker: n.breaker.State().String(), Queries: state.queries, InTime: state.inTime,
		LateCalls: state.late, Cached: n.cache.Len(), LastError: state.lastError, Dropped: state.dropped,
	}
	if s.Queries > 0 {
		s.Share = float64(s.InTime) / float64(s.Queries)
	}
	if state.embedder != nil {
		m := state.embedder.Model()
		s.Model, s.Digest, s.Dim = m.Name, m.Digest, m.Dim
	}
	switch {
	case state.closed:
		s.State = "closed"
	case state.dropped != "":
		s.State = "dropped"
	case state.embedder == nil:
		s.State = "opening"
	}
	return s
}

// None stands where no engine's embedder is to be used. It has the methods of a Neural; all of them answer ErrOff.
type None struct{}

// Query returns ErrOff.
func (None) Query(context.Context, []string) ([]Vector, Model, error) { return nil, Model{}, ErrOff }

// Documents returns ErrOff.
func (None) Documents(context.Context, []string) ([]Vector, Model, error) {
	return nil, Model{}, ErrOff
}

// Ready returns nil: it never will be.
func (None) Ready() <-chan struct{} { return nil }

// Status says that it is off.
func (None) Status() Status { return Status{State: "off"} }

// Close does nothing.
func (None) Close() {}
