package chat

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// Usage is what an engine said about an answer. A figure that it did not give is 0.
type Usage struct {
	PromptTokens   int           // of the whole prompt, reused ones included
	CachedTokens   int           // of those, reused from the cache, where the engine tells
	Evaluated      int           // of those, the others, where the engine tells
	OutputTokens   int           //
	PromptDuration time.Duration // spent on evaluating the prompt
	OutputDuration time.Duration // spent on generating the output
	Done           bool          // the engine said that the answer is complete
	Cut            bool          // and that it ended at its limit of tokens
	Failed         bool          // the engine reported an error within the answer
}

// observe reads one JSON object of the answer, if it may tell anything. Most of a stream's objects do not: for those it
// costs a few searches for a word.
func (s *Scanner) observe(object []byte) {
	if !s.telling(object) || tooDeep(object, maxDepth) || !gjson.ValidBytes(object) {
		return
	}
	at := skipSpace(object, 0)
	if object[at] != '{' {
		return
	}
	s.read(object, at)
}

// read takes what a JSON object tells that begins at object[at] and is known to be valid.
func (s *Scanner) read(object []byte, at int) {
	switch s.protocol {
	case Ollama:
		s.observeOllama(object, at)
	case Responses:
		s.observeResponses(object, at)
	case Anthropic:
		s.observeAnthropic(object, at)
	default:
		s.observeOpenAI(object, at)
	}
}

func (s *Scanner) telling(object []byte) bool {
	var words []string
	switch s.protocol {
	case Ollama:
		words = []string{"tool_calls", "prompt_eval", "eval_count", "done_reason", "\"done\":true", "\"done\": true", "\"error\""}
	case Responses: // all but the pieces of texts
		if bytes.Contains(object, []byte(`"type":"response.output_text.delta"`)) {
			return false
		}
		words = []string{"output_item", "function_call", "\"response\":", "\"output\"", "\"error\""}
	case Anthropic: // the same
		words = []string{"content_block_st", "input_json", "message_", "\"message\"", "\"error\""}
	default:
		words = []string{"tool_calls", "function_call", "\"usage\"", "\"timings\"", "\"error\"", "finish_reason\":\"", "finish_reason\": \""}
	}
	for _, word := range words {
		if bytes.Contains(object, []byte(word)) {
			return true
		}
	}
	return false
}

// isWhole reports whether b is a JSON value from its first byte to its last.
func isWhole(b []byte) bool { return !tooDeep(b, maxDepth) && gjson.ValidBytes(b) }

// startsDocument reports whether a first line begins a JSON document that goes on in the next.
func startsDocument(line []byte) bool {
	i := skipSpace(line, 0)
	return i < len(line) && (line[i] == '{' || line[i] == '[') && !isWhole(line)
}

func (s *Scanner) observeOllama(b []byte, at int) {
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "message":
			if value.isObject(b) {
				s.observeDelta(b, value, 0, true)
			}
		case "prompt_eval_count":
			s.usage.PromptTokens = number(b, value, s.usage.PromptTokens)
		case "eval_count":
			s.usage.OutputTokens = number(b, value, s.usage.OutputTokens)
		case "prompt_eval_duration":
			s.usage.PromptDuration = duration(b, value, time.Nanosecond, s.usage.PromptDuration)
		case "eval_duration":
			s.usage.OutputDuration = duration(b, value, time.Nanosecond, s.usage.OutputDuration)
		case "done_reason":
			s.usage.Cut = s.usage.Cut || value.text(b) == "length"
		case "done":
			s.usage.Done = s.usage.Done || b[value.start] == 't'
		case "error":
			s.usage.Failed = s.usage.Failed || !value.isAbsent(b)
		}
		return true
	})
}

func (s *Scanner) observeOpenAI(b []byte, at int) {
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "choices":
			if value.isArray(b) {
				s.observeChoices(b, value)
			}
		case "usage":
			if value.isObject(b) {
				s.observeUsage(b, value)
			}
		case "timings":
			if value.isObject(b) {
				s.observeTimings(b, value)
			}
		case "error":
			s.usage.Failed = s.usage.Failed || !value.isAbsent(b)
		}
		return true
	})
}

func (s *Scanner) observeChoices(b []byte, choices span) {
	eachElement(b, choices.start, func(choice span) bool {
		if !choice.isObject(b) {
			return true
		}
		var index, delta, message, finish span
		eachField(b, choice.start, func(key []byte, value span) bool {
			switch string(key) {
			case "index":
				index = value
			case "delta":
				delta = value
			case "message":
				message = value
			case "finish_reason":
				finish = value
			}
			return true
		})
		s.usage.Done = s.usage.Done || finish.isString(b)
		s.usage.Cut = s.usage.Cut || finish.text(b) == "length"
		switch n := number(b, index, 0); {
		case delta.isObject(b):
			s.observeDelta(b, delta, n, false)
		case message.isObject(b):
			s.observeDelta(b, message, n, true)
		}
		return true
	})
}

// observeDelta reads the calls of a message or of a piece of one.
func (s *Scanner) observeDelta(b []byte, delta span, choice int, whole bool) {
	eachField(b, delta.start, func(key []byte, value span) bool {
		switch {
		case string(key) == "tool_calls" && value.isArray(b):
			s.calls.begin(choice, whole)
			eachElement(b, value.start, func(call span) bool {
				if call.isObject(b) {
					s.calls.add(readPiece(b, call))
				}
				return true
			})
		case string(key) == "function_call" && value.isObject(b):
			s.calls.begin(choice, whole)
			s.calls.add(readLegacy(b, value))
		}
		return true
	})
}

func (s *Scanner) observeUsage(b []byte, usage span) {
	eachField(b, usage.start, func(key []byte, value span) bool {
		switch string(key) {
		case "prompt_tokens":
			s.usage.PromptTokens = number(b, value, s.usage.PromptTokens)
		case "completion_tokens":
			s.usage.OutputTokens = number(b, value, s.usage.OutputTokens)
		case "prompt_tokens_details":
			if value.isObject(b) {
				eachField(b, value.start, func(key []byte, value span) bool {
					if string(key) == "cached_tokens" {
						s.usage.CachedTokens = number(b, value, s.usage.CachedTokens)
					}
					return true
				})
			}
		}
		return true
	})
}

// observeTimings reads the timings object of llama.cpp's server: milliseconds, and prompt_n without the reused tokens.
func (s *Scanner) observeTimings(b []byte, timings span) {
	evaluated, cached := 0, 0
	eachField(b, timings.start, func(key []byte, value span) bool {
		switch string(key) {
		case "prompt_n":
			evaluated = number(b, value, 0)
		case "cache_n":
			cached = number(b, value, 0)
		case "predicted_n":
			if s.usage.OutputTokens == 0 {
				s.usage.OutputTokens = number(b, value, 0)
			}
		case "prompt_ms":
			s.usage.PromptDuration = duration(b, value, time.Millisecond, s.usage.PromptDuration)
		case "predicted_ms":
			s.usage.OutputDuration = duration(b, value, time.Millisecond, s.usage.OutputDuration)
		}
		return true
	})
	if cached > 0 {
		s.usage.CachedTokens = cached
	}
	if evaluated > 0 {
		s.usage.Evaluated = evaluated
	}
	if s.usage.PromptTokens == 0 {
		s.usage.PromptTokens = evaluated + cached
	}
}

// duration returns a time above 0 in a unit, or otherwise where the value is none.
func duration(b []byte, value span, unit, otherwise time.Duration) time.Duration {
	if v := gjson.ParseBytes(value.of(b)); v.Type == gjson.Number && v.Num > 0 && v.Num*float64(unit) < 1<<62 {
		return time.Duration(v.Num * float64(unit))
	}
	return otherwise
}

// number returns a count, or otherwise where the value is none.
func number(b []byte, value span, otherwise int) int {
	if value.end <= value.start {
		return otherwise
	}
	v := gjson.ParseBytes(value.of(b))
	if v.Type != gjson.Number {
		return otherwise
	}
	return count(v)
}
