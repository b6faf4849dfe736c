package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// value is one setting's text before it is understood, with what a relative path in it starts from.
type value struct {
	text string
	raw  any    // what the file holds where that is a list, else nil
	dir  string // folder that relative paths start from
	home string // "" where unknown
}

// boolean reads 1/true/yes/on and 0/false/no/off in any case.
func (v value) boolean() (bool, error) {
	if on, ok := parseBool(v.text); ok {
		return on, nil
	}
	return false, errors.New("allowed are 1, true, yes, on and 0, false, no, off")
}

func parseBool(text string) (on, ok bool) {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

func (v value) mode() (Mode, error) {
	if strings.EqualFold(v.text, string(Shadow)) {
		return Shadow, nil
	}
	if on, ok := parseBool(v.text); ok {
		if on {
			return On, nil
		}
		return Off, nil
	}
	return "", errors.New("allowed are on, shadow and off")
}

func (v value) embedder() (Embedder, error) {
	if on, ok := parseBool(v.text); ok && !on {
		return NoEmbedder, nil
	}
	switch e := Embedder(strings.ToLower(v.text)); e {
	case Auto, Builtin, Ollama, Lemonade, OpenAI:
		return e, nil
	}
	return "", errors.New("allowed are auto, builtin, ollama, lemonade, openai and off")
}

func (v value) strategy() (Strategy, error) {
	switch s := Strategy(strings.ToLower(v.text)); s {
	case AutoStrategy, Append, Late, Rebuild, All:
		return s, nil
	}
	return "", errors.New("allowed are auto, append, late, rebuild and all")
}

// integerOrOff reads a number from 1 to high, and 0 for what switches off.
func (v value) integerOrOff(high int) (int, error) {
	if on, ok := parseBool(v.text); ok && !on {
		return 0, nil
	}
	n, err := v.integer(1, high)
	if err != nil {
		return 0, fmt.Errorf("allowed is off or a whole number from 1 to %d", high)
	}
	return n, nil
}

func (v value) number(low, high float64) (float64, error) {
	x, err := strconv.ParseFloat(v.text, 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		return 0, fmt.Errorf("allowed is a number from %s to %s", formatFloat(low), formatFloat(high))
	}
	return x, nil
}

func (v value) integer(low, high int) (int, error) {
	n, err := strconv.Atoi(v.text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("allowed is a whole number from %d to %d", low, high)
	}
	return n, nil
}

func (v value) duration(low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(v.text)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("allowed is a time with its unit, such as 150ms or 2s, from %v to %v", low, high)
	}
	return d, nil
}

func (v value) level() (slog.Level, error) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(v.text, levelName(l)) {
			return l, nil
		}
	}
	return 0, errors.New("allowed are debug, info, warn and error")
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// secret reads what may stand in an HTTP header as one word.
func (v value) secret() (Secret, error) {
	for _, r := range v.text {
		if r <= ' ' || r > '~' {
			return "", errors.New("allowed are visible ASCII characters without spaces")
		}
	}
	if len(v.text) > 4096 {
		return "", errors.New("allowed are at most 4096 characters")
	}
	return Secret(v.text), nil
}

// line reads a text of one line and at most limit bytes.
func (v value) line(limit int) (string, error) {
	if len(v.text) > limit || strings.ContainsFunc(v.text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
		return "", fmt.Errorf("allowed is one line of at most %d bytes", limit)
	}
	return v.text, nil
}

// engine reads an engine's address, which proxy.ParseUpstream understands: there is always one, with a host or at least a port, so that nobody gets this
// machine who left half of it out.
func (v value) engine() (string, error) {
	if strings.TrimSpace(v.text) == "" {
		return "", errors.New(`allowed is an address, such as http://127.0.0.1:11434; leave the key out for the usual one`)
	}
	if !namesHost(v.text) {
		return "", errors.New(`which names no host; allowed is an address such as http://127.0.0.1:11434`)
	}
	return v.line(2048)
}

// path reads a file's path: ~/ is the home directory, a relative one starts from the file that holds
// it, or from the working directory. "" and ":memory:", a database that ends with the process, stay as they are.
func (v value) path() (string, error) {
	if v.text == "" || v.text == ":memory:" {
		return v.text, nil
	}
	if strings.ContainsFunc(v.text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("allowed is a path without control characters")
	}
	if rest, ok := strings.CutPrefix(v.text, "~/"); ok {
		if v.home == "" {
			return "", errors.New("there is no home directory for ~ to stand for")
		}
		return filepath.Join(v.home, rest), nil
	}
	if filepath.IsAbs(v.text) || v.dir == "" {
		return filepath.Clean(v.text), nil
	}
	return filepath.Join(v.dir, v.text), nil
}

// hosts reads a comma list of host names.
func (v value) hosts() ([]string, error) {
	var list []string
	for _, host := range strings.Split(v.text, ",") {
		host = strings.ToLower(strings.TrimSpace(host))
		if host == "" {
			continue
		}
		if !isHostName(strings.TrimPrefix(host, "*.")) {
			return nil, fmt.Errorf("allowed are names, addresses and *.domain without a port, separated by commas; %q is none", host)
		}
		list = append(list, host)
	}
	return list, nil
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
