package eval

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func said(texts ...string) []json.RawMessage {
	var messages []json.RawMessage
	for _, t := range texts {
		messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, t)))
	}
	return messages
}

func TestConversationsAreGroupedAndOrdered(t *testing.T) {
	list := Conversations([]Case{
		{ID: "a2", Conversation: "a", Turn: 2}, {ID: "x"}, {ID: "a1", Conversation: "a", Turn: 1}, {ID: "y"}, {ID: "b0", Conversation: "b"},
	})
	var got []string
	for _, turns := range list {
		var ids []string
		for _, c := range turns {
			ids = append(ids, c.ID)
		}
		got = append(got, strings.Join(ids, " "))
	}
	if want := []string{"a1 a2", "x", "y", "b0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJoinedConversationsRunOn(t *testing.T) {
	for _, n := range []int{1, 20, 29, 30, 40, 59, 60, 100} {
		var list [][]Case
		for i := range n {
			one := fmt.Sprint("m", i)
			list = append(list, []Case{{ID: one, Messages: said(one)}, {ID: one + "b", Messages: said(one, one+"b")}})
		}
		joined := Join(list, 7)
		total := 0
		for _, turns := range joined {
			total += len(turns)
			if len(turns) < longTurns && len(joined) > 1 && len(turns) < longTurns/2 {
				t.Errorf("%d conversations: one of %d turns", n, len(turns))
			}
			for j, c := range turns {
				if len(c.Messages) != j+1 {
					t.Fatalf("%d conversations: turn %d has %d messages", n, j+1, len(c.Messages))
				}
				if want := fmt.Sprintf("%q", c.ID); !strings.Contains(string(c.Messages[j]), want) {
					t.Fatalf("turn %d of case %s ends with %s", j+1, c.ID, c.Messages[j])
				}
				if j > 0 && !reflect.DeepEqual(c.Messages[:j], turns[j-1].Messages) {
					t.Fatalf("turn %d does not go on from the one before", j+1)
				}
			}
		}
		if total != 2*n {
			t.Errorf("%d turns of %d", total, 2*n)
		}
		if !reflect.DeepEqual(joined, Join(list, 7)) {
			t.Error("the same seed joins otherwise")
		}
	}
}

func TestHistoryStandsBehindItsTurn(t *testing.T) {
	turns := withHistory([]Case{
		{Messages: said("one"), Needed: []string{"a"}},
		{Messages: said("one", "two"), Needed: []string{"b"}, Steps: []string{"b", "c"}},
		{Messages: said("one", "two", "three")},
	})
	var got []string
	for _, m := range turns[2].Messages {
		got = append(got, role(m))
	}
	want := strings.Fields("user assistant tool user assistant tool assistant tool user")
	if !reflect.DeepEqual(got, want) || !strings.Contains(string(turns[2].Messages[6]), `"name":"c"`) {
		t.Errorf("roles %q, want %q; %s", got, want, turns[2].Messages)
	}
	if len(turns[0].Messages) != 1 || len(turns[1].Messages) != 4 {
		t.Errorf("the first has %d messages, the second %d", len(turns[0].Messages), len(turns[1].Messages))
	}
}

func TestHalvesKeepGroupsTogether(t *testing.T) {
	var list [][]Case
	for i := range 40 {
		list = append(list, []Case{{ID: fmt.Sprint(i), Group: fmt.Sprint(i % 10)}})
	}
	ordered, second := halves(list, 3)
	if len(ordered) != 40 || second != 20 {
		t.Fatalf("%d conversations, the second half from %d", len(ordered), second)
	}
	first := map[string]bool{}
	for _, turns := range ordered[:second] {
		first[turns[0].Group] = true
	}
	for _, turns := range ordered[second:] {
		if first[turns[0].Group] {
			t.Errorf("group %s is in both halves", turns[0].Group)
		}
	}
}
