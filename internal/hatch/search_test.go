package hatch_test

import (
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/hatch"
)

func TestSearchRanks(t *testing.T) {
	loader := hatch.NewLoader(catalog.New([]catalog.Tool{
		{Name: "get_weather", Description: "Forecast for a city.\nRain too"},
		{Name: "send_email", Description: "Send a message", Schema: []byte(`{"type":"object","properties":{"recipient":{},"city":{}}}`)},
		{Name: "find_city", Description: "Where a city lies"},
		{Name: "track_parcel", Description: "A parcel's place"},
		{Name: "a_city", Description: "about cities"}, {Name: "b_city"}, {Name: "c_city"}, {Name: "d_city"}, {Name: "e_city"},
	}), nil)
	for _, c := range []struct {
		name, arguments string
		named           []string
	}{
		{"a name counts more than a text, and both more than one", `{"query":"city"}`, []string{"find_city", "a_city", "b_city", "c_city", "d_city"}},
		{"a text alone", `{"query":"rain"}`, []string{"get_weather"}},
		{"a parameter's name", `{"query":"recipient"}`, []string{"send_email"}},
		{"a plural, and empty words", `{"query":"a tool to find the parcels"}`, []string{"track_parcel"}},
		{"part of a word", `{"query":"mail"}`, []string{"send_email"}},
		{"two words", `{"query":"weather city"}`, []string{"get_weather", "find_city", "a_city", "b_city", "c_city"}},
		{"a pattern", `{"pattern":"(?i)get_.*weather"}`, []string{"get_weather"}},
		{"a bare text", `"weather"`, []string{"get_weather"}},
		{"select", `{"query":"select:find_city, get_weather"}`, []string{"find_city", "get_weather"}},
		{"select one, nearly", `{"query":"select:Find-City"}`, []string{"find_city"}},
		{"nothing", `{"query":"blockchain"}`, nil},
		{"no query", `{}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := loader.Search([]byte(c.arguments))
			if !slices.Equal(got.Named, c.named) {
				t.Errorf("got %q, want %q", got.Named, c.named)
			}
			if again := loader.Search([]byte(c.arguments)); !slices.Equal(again.Named, got.Named) {
				t.Errorf("got %q the second time", again.Named)
			}
		})
	}
}

func TestSearchAnswer(t *testing.T) {
	tools, groups := large(2000)
	loader := hatch.NewLoader(tools, groups)
	search := loader.Search([]byte(`{"query":"rename"}`))
	if len(search.Named) != 5 {
		t.Fatalf("named %q", search.Named)
	}
	answer := search.Answer(search.Named[:4], search.Named[4:])
	for _, want := range []string{
		"Found:\nserver0__rename_item_9: rename one item of the kind 9, or several.\n",
		"You can call these tools now: server0__rename_item_9, ",
		"You cannot call these yet: " + search.Named[4] + ", server5__rename_item_59, ",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("%q is not in %q", want, answer)
		}
	}
	miss := loader.Search([]byte(`{"query":"blockchain"}`)).Answer(nil, nil)
	if !strings.HasPrefix(miss, `No tool was found for "blockchain".`) || strings.Count(miss, "server") != 30*1 {
		t.Errorf("a miss answers %q", miss)
	}
	if unread := loader.Search(nil).Answer(nil, nil); !strings.Contains(unread, "No name could be read") {
		t.Errorf("no query answers %q", unread)
	}
}

func TestSearchAnswersLate(t *testing.T) {
	loader := hatch.NewLoader(catalog.New([]catalog.Tool{{Name: "get_weather", Description: "Rain"}, {Name: "rain_alarm"}}), nil)
	got := loader.Search([]byte(`{"query":"rain"}`)).AnswerLate(nil, []string{"rain_alarm"}, nil)
	for _, want := range []string{"Found:\nrain_alarm\nget_weather: Rain\n", "You cannot call these yet: get_weather.", "Call them with call_tool", "\nrain_alarm()"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "You can call these tools now") {
		t.Errorf("a late tool is said to be in the array: %q", got)
	}
}
