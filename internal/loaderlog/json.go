package loaderlog

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// object writes one JSON object the way Python's json.dumps does by default: fields in the order given, ", " and ": " between, everything
// outside ASCII escaped. The log's readers were written against that.
type object struct{ b []byte }

func (o *object) key(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ", "...)
	}
	o.b = appendString(o.b, name)
	o.b = append(o.b, ": "...)
}

func (o *object) text(name, value string) {
	o.key(name)
	o.b = appendString(o.b, value)
}

func (o *object) textOrNull(name, value string) {
	if value != "" {
		o.text(name, value)
		return
	}
	o.key(name)
	o.b = append(o.b, "null"...)
}

func (o *object) integer(name string, value int) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
}

func (o *object) boolean(name string, value bool) {
	o.key(name)
	o.b = strconv.AppendBool(o.b, value)
}

func (o *object) number(name string, value float64) {
	o.key(name)
	o.b = appendFloat(o.b, value)
}

func (o *object) list(name string, values []string) {
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ", "...)
		}
		o.b = appendString(o.b, v)
	}
	o.b = append(o.b, ']')
}

// sorted writes the list in sorted order and leaves values as they are.
func (o *object) sorted(name string, values []string) {
	values = slices.Clone(values)
	slices.Sort(values)
	o.list(name, values)
}

// numbers writes a map, sorted by key.
func (o *object) numbers(name string, values map[string]float64) {
	o.key(name)
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	inner := object{}
	for _, k := range keys {
		inner.number(k, values[k])
	}
	o.b = append(o.b, inner.end()...)
}

func (o *object) end() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// appendFloat writes four decimals at most and one at least. What JSON cannot say (NaN, infinities) is 0.0.
func appendFloat(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	x = math.Round(x*1e4) / 1e4
	start := len(b)
	b = strconv.AppendFloat(b, x, 'f', -1, 64)
	if !slices.Contains(b[start:], '.') {
		b = append(b, ".0"...)
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendString writes s quoted and in ASCII; a byte that is no UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r >= 0x20 && r < 0x7f:
			b = append(b, byte(r))
		case r >= 0x10000 && r <= utf8.MaxRune:
			r -= 0x10000
			b = appendEscape(b, 0xd800+(r>>10))
			b = appendEscape(b, 0xdc00+(r&0x3ff))
		default:
			b = appendEscape(b, r)
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
