package chat

import "bytes"

// mayBeOurs reports whether what an answer breaks off in is, or may be, a piece of a call that is not the client's: it has a name
// of ours, or the beginning of one that it was cut off in, or members of a call and no name. Linear in the length of b.
func (f *Filter) mayBeOurs(b []byte) bool {
	if f.cfg.Held == nil && f.cfg.Bridge == "" || !f.mayBecomeOurs(nil) {
		return false
	}
	named := false
	rest := append(bytes.Clone(b), '"') // ends a string that was cut off
	for {
		value := nextName(rest)
		if value == nil {
			return !named && f.hasCall(b)
		}
		end := skipString(value, 0)
		if end == len(value) {
			return f.mayBecomeOurs(value[1 : end-1])
		}
		if f.isOurs(string(appendUnquoted(nil, value[:end]))) {
			return true
		}
		named, rest = true, value[end:]
	}
}

// nextName returns b from the first string on that is the value of a "name", nil where there is none.
func nextName(b []byte) []byte {
	const key = `"name"`
	for {
		n := bytes.Index(b, []byte(key))
		if n < 0 {
			return nil
		}
		b = b[n+len(key):]
		i := skipSpace(b, 0)
		if i == len(b) || b[i] != ':' {
			continue
		}
		if i = skipSpace(b, i+1); i+1 < len(b) && b[i] == '"' { // the last quote is none of b's
			return b[i:]
		}
	}
}

// mayBecomeOurs reports whether a name of ours begins with this content of a JSON string.
func (f *Filter) mayBecomeOurs(begun []byte) bool {
	if i := bytes.LastIndexByte(begun, '\\'); i >= 0 && i >= len(begun)-len(`\u0000`) { // an escape may be cut off
		begun = begun[:i]
	}
	return f.cfg.Prefix == nil || f.cfg.Prefix(string(appendUnquoted(nil, append(append([]byte{'"'}, begun...), '"'))))
}

// hasCall reports whether there is a member in b that calls alone have, or an item that may be one.
func (f *Filter) hasCall(b []byte) bool {
	has := func(words ...string) bool {
		for _, word := range words {
			if bytes.Contains(b, []byte(word)) {
				return true
			}
		}
		return false
	}
	switch f.protocol {
	case Anthropic:
		return has(`"tool_use"`, `"input_json_delta"`, `"partial_json"`, `"input"`) || has("content_block_start") && !has(`"text"`, `"thinking"`)
	case Responses:
		if has("response.output_text") {
			return false
		}
		return has("function_call", `"arguments"`, `"call_id"`) || has("response.output_item") && !has(`"message"`, `"reasoning"`)
	}
	return has(`"tool_calls"`)
}
