package loaderlog

import (
	"testing"

	"toolbelt/internal/turn"
)

func TestLoadLine(t *testing.T) {
	p := &turn.Plan{
		Session: "s1", Turn: 3, Tools: []turn.Tool{{Name: "z"}, {Name: "mail_send"}, {Name: "mail_read"}},
		Changes: turn.Changes{Admitted: []string{"mail_send", "mail_read"}, Skipped: []string{"mail_find"}},
	}
	line := written(t, func(l *Logger) { l.Loaded(p, "mail") })
	m := planLine.FindStringSubmatch(line)
	const want = `{"turn": 3, "event": "load_tools", "bundle": "mail", "admitted": ["mail_read", "mail_send"], "evicted": [], ` +
		`"skipped_at_cap": ["mail_find"], "loaded": ["mail_read", "mail_send", "z"], "session": "s1"}`
	if m == nil || m[1] != want {
		t.Errorf("got %q, want %s", line, want)
	}
	if sessionLine.MatchString(line) || hatchLine.MatchString(line) {
		t.Error("a load's line is taken for another")
	}
	var none *Logger
	none.Loaded(p, "")
}
