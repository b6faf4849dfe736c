package chat

import (
	"bytes"
	"slices"
)

// results follows the calls of the turn under way and what came back of each.
type results struct {
	waiting []waitingCall // calls whose result has not been seen
	failed  []string      // tools whose latest result looks like an error
}

type waitingCall struct{ id, name string }

// called notes a call. Those of a message that has many are all waited for, within reason.
func (r *results) called(id, name string) {
	if len(r.waiting) < maxCalls {
		r.waiting = append(r.waiting, waitingCall{id, name})
	}
}

// came notes a tool's answer: of the call with this id, else of this name, else the oldest that is waited for.
func (r *results) came(id, name string, content []byte) {
	at := -1
	switch {
	case id != "":
		at = slices.IndexFunc(r.waiting, func(w waitingCall) bool { return w.id == id })
	case name != "":
		at = slices.IndexFunc(r.waiting, func(w waitingCall) bool { return w.name == name })
	case len(r.waiting) > 0:
		at = 0
	}
	if at >= 0 {
		name = r.waiting[at].name
		r.waiting = slices.Delete(r.waiting, at, at+1)
	}
	if name == "" {
		return
	}
	r.failed = slices.DeleteFunc(r.failed, func(s string) bool { return s == name })
	if looksFailed(content) {
		r.failed = append(r.failed, name)
	}
}

const failedHead = 64 // bytes of a result that are looked at

// looksFailed reports whether a tool's result begins like an error: "Error: …", {"error": "…"}, "Traceback …", {"success": false}. An
// error member that is empty says that there was none.
func looksFailed(content []byte) bool {
	text := bytes.ToLower(content[:min(len(content), failedHead)])
	text = bytes.TrimLeft(text, " \t\r\n\"'`{[(<*#-:")
	for _, word := range []string{"error", "failed", "failure", "exception", "traceback", "fatal", "iserror", "is_error"} {
		if rest, ok := bytes.CutPrefix(text, []byte(word)); ok {
			return !says(rest, "null", "false", `""`, "none", "0", "[]", "{}")
		}
	}
	for _, word := range []string{"success", "ok"} {
		if rest, ok := bytes.CutPrefix(text, []byte(word+`"`)); ok {
			return says(rest, "false")
		}
	}
	if rest, ok := bytes.CutPrefix(text, []byte(`status"`)); ok {
		return says(rest, `"error`, `"fail`)
	}
	return false
}

// says reports whether the value of the member whose name text follows is one of values.
func says(text []byte, values ...string) bool {
	text, colon := bytes.CutPrefix(bytes.TrimLeft(text, "\" \t"), []byte(":"))
	if !colon {
		return false
	}
	text = bytes.TrimLeft(text, " \t\r\n")
	return slices.ContainsFunc(values, func(v string) bool { return bytes.HasPrefix(text, []byte(v)) })
}
