package telemetry

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// key names a turn.
type key struct {
	session string
	number  int
}

func keyOf(session string, number int) key { return key{cut(session), number} }

// call is a call of a tool.
type call struct {
	name   string
	hidden bool
}

// open is a turn that more may be told of.
type open struct {
	turn    Turn
	names   []string // called, whether or not names are kept
	sought  []string // asked for
	changed bool     // since it was saved
}

// ledger is the newest turns. It belongs to the Recorder's goroutine.
type ledger struct {
	cfg     Config
	turns   *simplelru.LRU[key, *open]
	failing bool
	wait    int // ticks until the next try
}

func newLedger(cfg Config) *ledger {
	turns, _ := simplelru.NewLRU[key, *open](maxOpen, nil) // fails for sizes below 1 only
	return &ledger{cfg: cfg, turns: turns}
}

// planned begins a turn. One that is known keeps what was first decided.
func (l *ledger) planned(t Turn) {
	k := key{t.Session, t.Number}
	if _, ok := l.turns.Get(k); ok {
		return
	}
	if l.turns.Len() == maxOpen {
		if _, oldest, _ := l.turns.GetOldest(); oldest.changed && l.wait == 0 {
			l.save()
		}
	}
	l.turns.Add(k, &open{turn: t, changed: true})
}

// called counts calls. Of turns that were not told of, or too long ago, nothing is kept, here and below.
func (l *ledger) called(k key, calls []call) {
	o, ok := l.turns.Get(k)
	if !ok {
		return
	}
	u := &o.turn.Use
	for _, c := range calls {
		if c.name == "" || slices.Contains(o.names, c.name) || len(o.names) >= maxNames {
			continue
		}
		o.names, o.changed = append(o.names, c.name), true
		u.Calls++
		u.Names = l.named(u.Names, c.name)
		switch {
		case c.hidden:
			u.Misses++
			u.Missed = l.named(u.Missed, c.name)
		case slices.Contains(o.sought, c.name):
			u.Asked++
			u.Sought = l.named(u.Sought, c.name)
		}
	}
}

// named adds a name where names are kept.
func (l *ledger) named(names []string, name string) []string {
	if !l.cfg.Names {
		return nil
	}
	return append(names, name)
}

func (l *ledger) loaded(k key, sought []string) {
	o, ok := l.turns.Get(k)
	if !ok {
		return
	}
	o.turn.Use.Loads++
	o.changed = true
	for _, name := range sought {
		if len(o.sought) < maxNames && !slices.Contains(o.sought, name) {
			o.sought = append(o.sought, name)
		}
	}
}

// spending is what one of the engine's answers cost.
type spending struct {
	read              Reading
	generated         int // that was not for the client
	generatedDuration time.Duration
	truncated, later  bool
}

func (l *ledger) spent(k key, s spending) {
	o, ok := l.turns.Get(k)
	if !ok {
		return
	}
	o.changed = true
	t := &o.turn
	t.Truncated = t.Truncated || s.truncated
	switch {
	case s.later:
		t.Hidden.Read = t.Hidden.Read.plus(s.read)
		if s.read.EvaluatedTokens <= 0 {
			t.Hidden.Read.Answers--
		}
	case t.First.Answers == 0:
		t.First = s.read
	default:
		t.Rest = t.Rest.plus(s.read)
	}
	t.Hidden.Generated += s.generated
	t.Hidden.GeneratedDuration += s.generatedDuration
}

func (l *ledger) again(k key, guess bool) {
	o, ok := l.turns.Get(k)
	if !ok {
		return
	}
	o.changed = true
	if o.turn.Hidden.Rounds++; guess {
		o.turn.Hidden.Guesses++
	}
}

// written counts calls that were written as text, of tools that called counts, too.
func (l *ledger) written(k key, names []string) {
	o, ok := l.turns.Get(k)
	if !ok {
		return
	}
	for _, name := range names {
		if !slices.Contains(o.names, name) {
			o.turn.Use.Written++
			o.changed = true
		}
	}
}

// tick saves, after a failure less often.
func (l *ledger) tick() {
	if l.wait > 0 {
		l.wait--
		return
	}
	l.save()
}

// save writes what has changed. What cannot be written is tried again until newer turns take its place.
func (l *ledger) save() {
	var changed []*open
	var turns []Turn
	for _, o := range l.turns.Values() {
		if o.changed {
			changed, turns = append(changed, o), append(turns, o.turn)
		}
	}
	if len(turns) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	if err := l.cfg.Store.SaveTurns(ctx, turns); err != nil {
		l.fail("turns are not being counted", err)
		l.wait = retryEvery
		return
	}
	l.failing, l.wait = false, 0
	for _, o := range changed {
		o.changed = false
	}
}

// fail says once, until something succeeds, that the store does not work.
func (l *ledger) fail(what string, err error) {
	if !l.failing {
		l.cfg.Log.Warn(what, "error", err)
	}
	l.failing = true
}

// prune deletes what is too old, too much, or of a time that has not come: the clock was wrong.
func (l *ledger) prune() {
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	now := l.cfg.Now()
	if _, err := l.cfg.Store.PruneTurns(ctx, now.Add(-l.cfg.KeepFor), now.Add(24*time.Hour), l.cfg.KeepTurns); err != nil {
		l.fail("old turns could not be deleted", err)
	}
}

// cut returns at most MaxNameBytes of a name, as valid UTF-8.
func cut(name string) string {
	if n := MaxNameBytes; len(name) > n {
		for n > 0 && !utf8.RuneStart(name[n]) {
			n--
		}
		name = name[:n]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), "?") // a sign of one byte: it stays within the limit
}
