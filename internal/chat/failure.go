package chat

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Failure is why an answer ends without its end.
type Failure struct {
	Message    string
	Type, Code string // what the protocol's errors have of that kind; "" for what stands there as a rule
}

// ReadFailure reads an engine's error body: {"error": "…"}, {"error": {"message": "…", "type": "…", "code": "…"}}, or the message at the top or as "detail". False: it is none of these.
func ReadFailure(body []byte) (f Failure, ok bool) {
	if !gjson.ValidBytes(body) {
		return f, false
	}
	of := gjson.ParseBytes(body)
	switch e := of.Get("error"); {
	case e.IsObject():
		of = e
	case e.Type == gjson.String:
		return Failure{Message: e.Str}, strings.TrimSpace(e.Str) != ""
	}
	for _, key := range []string{"message", "detail"} {
		if f.Message == "" {
			f.Message = word(of.Get(key))
		}
	}
	f.Type, f.Code = word(of.Get("type")), word(of.Get("code"))
	return f, strings.TrimSpace(f.Message) != ""
}

// word is a string's text, "" for anything else.
func word(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return v.Str
}
