package chat

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// editor gathers edits of a piece of JSON that is known to be valid.
type editor struct {
	b    []byte
	list []splice
}

type splice struct {
	span
	text []byte
}

// replace puts text in the place of a value, the last time counts; one that is not there stays away.
func (e *editor) replace(at span, text []byte) {
	for i := range e.list {
		if e.list[i].span == at && at.end > at.start {
			e.list[i].text = text
			return
		}
	}
	if at.end > at.start {
		e.list = append(e.list, splice{at, text})
	}
}

// apply appends the edited JSON to dst. Of changes that lie within one another the outermost holds.
func (e *editor) apply(dst []byte) []byte {
	slices.SortStableFunc(e.list, func(x, y splice) int {
		switch {
		case x.start != y.start:
			return x.start - y.start
		case x.end == x.start || y.end == y.start: // what is inserted comes first
			return x.end - y.end
		}
		return y.end - x.end
	})
	at := 0
	for _, c := range e.list {
		if c.start < at {
			continue
		}
		dst = append(append(dst, e.b[at:c.start]...), c.text...)
		at = c.end
	}
	return append(dst, e.b[at:]...)
}

// insert puts a member before the others of an object that stay: what is cut of it has to be cut before.
func (e *editor) insert(object span, key string, value []byte) {
	stay, first := false, true
	eachField(e.b, object.start, func(_ []byte, value span) bool {
		stay = !e.isCut(value)
		return !stay
	})
	at := object.start + 1
	for _, c := range e.list {
		first = first && c.span != span{at, at}
	}
	var text []byte
	if !stay && !first {
		text = append(text, ',')
	}
	text = append(append(append(append(text, '"'), key...), `":`...), value...)
	if stay {
		text = append(text, ',')
	}
	e.list = append(e.list, splice{span{at, at}, text})
}

// isCut reports whether the member that has this value goes.
func (e *editor) isCut(value span) bool {
	for _, c := range e.list {
		if len(c.text) == 0 && c.start < value.start && value.end <= c.end {
			return true
		}
	}
	return false
}

// cut takes members out of the object that begins at b[at]: all that are to go at once, as their commas go with them.
func (e *editor) cut(at int, unwanted func(key string) bool) {
	type member struct {
		span
		cut bool
	}
	var members []member
	i := skipSpace(e.b, at+1)
	eachField(e.b, at, func(key []byte, value span) bool {
		members = append(members, member{span{i, value.end}, unwanted(string(key))})
		i = skipSpace(e.b, value.end)
		if i < len(e.b) && e.b[i] == ',' {
			i = skipSpace(e.b, i+1)
		}
		return true
	})
	for first := 0; first < len(members); first++ {
		if !members[first].cut {
			continue
		}
		last := first
		for last+1 < len(members) && members[last+1].cut {
			last++
		}
		switch {
		case last+1 < len(members):
			e.replace(span{members[first].start, members[last+1].start}, nil)
		case first > 0:
			e.replace(span{members[first-1].end, members[last].end}, nil)
		default:
			e.replace(span{members[first].start, members[last].end}, nil)
		}
		first = last
	}
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// add adds what a round has used.
func (s *figures) add(round *figures, usage Usage) {
	s.prompt = usage.PromptTokens
	s.output += usage.OutputTokens
	s.reading += usage.PromptDuration
	s.writing += usage.OutputDuration
	s.total += round.total
	s.load += round.load
	s.promptEval += round.promptEval
	s.eval += round.eval
}

// raise replaces a number by itself and what earlier rounds came to.
func (e *editor) raise(at span, more int64) {
	if n := wholeNumber(e.b, at); n >= 0 && more > 0 && n < 1<<62 && more < 1<<62 {
		e.replace(at, strconv.AppendInt(nil, n+more, 10))
	}
}

// editTimings adds what earlier rounds came to in llama.cpp's timings: what was generated, and the times. Its counts of the prompt are the last round's.
func (f *Filter) editTimings(ed *editor, timings span) {
	if f.client.rounds < 2 || !timings.isObject(ed.b) {
		return
	}
	spent := &f.client.spent
	tokens, millis := 0, 0.0
	eachField(ed.b, timings.start, func(key []byte, value span) bool {
		switch string(key) {
		case "prompt_ms":
			ed.raiseMillis(value, spent.reading)
		case "predicted_n":
			tokens = number(ed.b, value, 0) + spent.output
			ed.raise(value, int64(spent.output))
		case "predicted_ms":
			millis = ed.raiseMillis(value, spent.writing)
		}
		return true
	})
	if tokens == 0 || millis <= 0 || spent.writing == 0 {
		return
	}
	ed.replace(fieldOf(ed.b, timings, "predicted_per_token_ms"), appendMillis(nil, millis/float64(tokens)))
	ed.replace(fieldOf(ed.b, timings, "predicted_per_second"), appendMillis(nil, float64(tokens)/millis*1000))
}

// raiseMillis replaces a number of milliseconds by itself and what earlier rounds came to, and returns the sum; 0 where there is no number.
func (e *editor) raiseMillis(at span, more time.Duration) float64 {
	was := duration(e.b, at, time.Millisecond, -1)
	if was < 0 || more < 0 || was > 1<<61 || more > 1<<61 {
		return 0
	}
	sum := float64(was+more) / float64(time.Millisecond)
	if more > 0 {
		e.replace(at, appendMillis(nil, sum))
	}
	return sum
}

// appendMillis writes a number with as much behind the point as an engine's clock tells.
func appendMillis(dst []byte, millis float64) []byte {
	return strconv.AppendFloat(dst, math.Round(millis*1000)/1000, 'f', -1, 64)
}

// wholeNumber reads a count, -1 where there is none.
func wholeNumber(b []byte, at span) int64 {
	if at.end <= at.start {
		return -1
	}
	n, err := strconv.ParseInt(string(at.of(b)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
