package chat_test

import (
	"regexp"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// bareEvents takes from events of Responses what llama.cpp's have not: numbers and indexes.
func bareEvents(events string) string {
	return regexp.MustCompile(`"(sequence_number|output_index|content_index)":\d+,?`).ReplaceAllString(events, "")
}

// TestOurEventsAreLikeTheEngines has the events that are written here have numbers and indexes where the engine's own have them, and none where not.
func TestOurEventsAreLikeTheEngines(t *testing.T) {
	load, read, write := rDone("h1", "load_tools", "{}"), rDone("c1", "read", "{}"), rDone("b1", "write", `{"p":1.0}`)
	bridge := `{"name":"write","arguments":{"p":1.0}}`
	for name, c := range map[string]struct {
		want   string
		rounds []string
	}{
		"a message left open, ours, then text": {
			rStart("a") + rOpen("0", "m", "a") + rClose("0", "m", "a") + rText("1", "n", "b") + rEnd("a", rMessage("m", "a")+","+rMessage("n", "b"), 11),
			[]string{rStart("a") + rOpen("0", "m", "a") + rCall("0", "h1", "load_tools", "{}") + rEnd("a", load, 5), rStart("b") + rText("0", "n", "b") + rEnd("b", rMessage("n", "b"), 6)},
		},
		"bridged beside real": {
			rStart("a") + rCall("0", "b1", "write", `{"p":1.0}`) + rCall("1", "c1", "read", "{}") + rEnd("a", write+","+read, 5),
			[]string{rStart("a") + rCall("0", "b1", "call_tool", bridge) + rCall("1", "c1", "read", "{}") + rEnd("a", rDone("b1", "call_tool", bridge)+","+read, 5)},
		},
		"ours, then bridged": {
			rStart("a") + rCall("0", "b1", "write", `{"p":1.0}`) + rEnd("a", write, 11),
			[]string{rStart("a") + rCall("0", "h1", "load_tools", "{}") + rEnd("a", load, 5), rStart("b") + rCall("0", "b1", "call_tool", bridge) + rEnd("b", rDone("b1", "call_tool", bridge), 6)},
		},
	} {
		rounds := make([]string, len(c.rounds))
		for _, bare := range []bool{false, true} {
			want := numberedEvents(c.want)
			for i, round := range c.rounds {
				if rounds[i] = numberedEvents(round); bare {
					rounds[i] = bareEvents(rounds[i])
				}
			}
			if bare {
				want = bareEvents(want)
			}
			for _, size := range []int{1, 5, 1 << 20} {
				if got := filter(chat.Responses, events, ours(), size, rounds...); got.out != want {
					t.Errorf("%s, bare %v, in pieces of %d:\n%s\nwant:\n%s", name, bare, size, got.out, want)
				}
			}
		}
	}
}

func TestAnErrorOfOursIsLikeTheEnginesEvents(t *testing.T) {
	for _, bare := range []bool{false, true} {
		round := numberedEvents(rStart("a"), rText("0", "m", "a"), rCall("1", "h1", "load_tools", "{}"), rEnd("a", rMessage("m", "a")+","+rDone("h1", "load_tools", "{}"), 5))
		want := `{"type":"error","sequence_number":8,"code":"server_error","message":"no","param":null}`
		if bare {
			round, want = bareEvents(round), strings.Replace(want, `"sequence_number":8,`, "", 1)
		}
		f := chat.NewFilter(chat.Responses, events, ours())
		f.Write(nil, []byte(round))
		f.End(false)
		if got := string(f.Fail(nil, chat.Failure{Message: "no"})); got != "event: error\ndata: "+want+"\n\n" {
			t.Errorf("bare %v: %s", bare, got)
		}
	}
}
