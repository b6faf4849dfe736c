package eval

import (
	"context"
	"slices"
	"strings"
	"testing"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
)

// compass embeds a text by the direction that it names first; "half" lies between north and east.
type compass struct{}

func (compass) Model() embed.Model { return embed.Model{Name: "compass", Dim: 3} }

func (compass) Embed(_ context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	out := make([]embed.Vector, len(texts))
	for i, text := range texts {
		best := len(text)
		for name, v := range map[string]embed.Vector{"north": {1, 0, 0}, "east": {0, 1, 0}, "up": {0, 0, 1}, "half": {.6, .8, 0}} {
			if at := strings.Index(text, name); at >= 0 && at < best {
				best, out[i] = at, v
			}
		}
	}
	return out, nil
}

func compassLookup(t *testing.T) *lookup {
	t.Helper()
	var tools []catalog.Tool
	for _, pair := range []string{"a north", "b east", "c up", "d up", "mate up", "core up", "half half"} {
		name, direction, _ := strings.Cut(pair, " ")
		tools = append(tools, catalog.Tool{Name: name, Description: "goes " + direction + "\nnorth"})
	}
	l, err := newLookup(context.Background(), catalog.New(tools), []bundles.Bundle{{Name: "x", Members: []string{"a", "mate", "gone"}}}, compass{}, .7)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func asked(users ...string) turn.Request { return turn.Request{Chat: &chat.Request{Users: users}} }

func TestGAIAsCandidates(t *testing.T) {
	l := compassLookup(t)
	for request, want := range map[string][]string{
		"north": {"a", "mate"},
		"east":  {"b", "half"},
		"half":  {"half", "b"},
		"up":    {"c", "core", "d", "mate", "a"}, // its mate's score opens a's bundle
		"":      nil,
	} {
		got, err := l.byGAIA(context.Background(), asked(request).Chat)
		slices.Sort(want)
		sorted := slices.Sorted(slices.Values(got))
		if err != nil || !slices.Equal(sorted, want) {
			t.Errorf("%q: %q, %v; want %q", request, got, err, want)
		}
	}
	if got, _ := l.byGAIA(context.Background(), asked("half").Chat); !slices.Equal(got, []string{"half", "b"}) {
		t.Errorf("best first: %q", got)
	}
}

func TestGAIAsListGivesUpTheLeastRecentlyUsed(t *testing.T) {
	g := newGAIA(compassLookup(t), []string{"core"}, 4)
	for i, step := range []struct{ say, use, want string }{
		{"north", "a", "a core mate"},
		{"east", "", "a core half mate b"}, // b has the last place; half follows and takes the place of mate, never used
		{"nothing", "", ""},
	} {
		visible, _, err := g.turn(context.Background(), asked(step.say))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(visible) || len(visible) > 4 || !slices.Contains(visible, "core") {
			t.Errorf("step %d: %q", i, visible)
		}
		if i == 0 && strings.Join(visible, " ") != step.want {
			t.Errorf("first list %q", visible)
		}
		if i >= 1 && (!slices.Contains(visible, "a") || slices.Contains(visible, "mate") || !slices.Contains(visible, "b") || !slices.Contains(visible, "half")) {
			t.Errorf("step %d: %q: what was used must stay, what never was must go", i, visible)
		}
		g.used(strings.Fields(step.use))
	}
}

func TestThePlainRankings(t *testing.T) {
	l := compassLookup(t)
	for name, rank := range map[string]ranker{"bm25": l.byWords, "dense": l.byVectors} {
		got, err := rank(context.Background(), asked("something", "east").Chat)
		if err != nil || len(got) != 7 || got[0] != "b" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := lastTwo(&chat.Request{Users: []string{"x", "äbc", "déf"}}, 4); got != "\ndéf" {
		t.Errorf("the last four characters are %q", got)
	}
}
