package selector_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/selector"
)

func TestGenericAsksAboutTheCatalogsSubjects(t *testing.T) {
	tools := func(names ...string) *catalog.Catalog {
		var list []catalog.Tool
		for _, n := range names {
			list = append(list, catalog.Tool{Name: n})
		}
		return catalog.New(list)
	}
	for name, c := range map[string]struct {
		names []string
		want  []string // subjects, in order
	}{
		"none":               {nil, nil},
		"no words":           {[]string{"???", "7", "x"}, nil},
		"objects":            {[]string{"create_event", "deleteEvents", "get_weather"}, []string{"event", "weather"}},
		"actions last":       {[]string{"invoice_list", "invoice_create", "ticket_delete"}, []string{"invoice", "ticket"}},
		"servers and theirs": {[]string{"my_mail__send_letter", "my_mail__drop_stamp"}, []string{"my mail", "letter", "stamp"}},
		"only actions":       {[]string{"search", "update_data"}, nil},
		"another script":     {[]string{"天気"}, []string{"天気"}},
	} {
		var want []string
		for _, s := range c.want {
			want = append(want, "help me with "+s, "what can you do with "+s+"?", "show me everything about "+s)
		}
		if got := selector.Generic(tools(c.names...)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var many []string
	for a := 'a'; a <= 'z'; a++ {
		many = append(many, "get_"+string(a)+"thing")
	}
	if got := selector.Generic(tools(many...)); len(got) != 30 || got[0] != "help me with athing" {
		t.Errorf("%d requests: %q", len(got), got[0])
	}
}

// The figures are those that scoring the same requests gives.
func TestMeasureGeneric(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	a, b := embed.Model{Name: "a", Dim: 24}, embed.Model{Name: "b", Dim: 16}
	const n, requests = 40, 30
	ix := mustIndex(t, someTools(n), mustView(t, a, randomVectors(r, n, 24, true), randomVectors(r, 30, 24, false)), mustView(t, b, randomVectors(r, n, 16, false), randomVectors(r, 30, 16, false)))
	vectors := map[embed.Model][]embed.Vector{a: randomVectors(r, requests, 24, false), b: randomVectors(r, requests, 16, false)}
	c, err := ix.Calibrate()
	if err != nil {
		t.Fatal(err)
	}
	floor := c.Floor
	if err := ix.MeasureGeneric(&c, vectors); err != nil {
		t.Fatal(err)
	}
	var best []float64
	over := 0
	for j := range requests {
		s := ix.Score(selector.Query{Texts: []string{"word"}, Vectors: map[embed.Model][]embed.Vector{a: {vectors[a][j]}, b: {vectors[b][j]}}})
		best = append(best, float64(slices.Max(s.Match)))
		for _, m := range s.Match {
			if m >= 1 {
				over++
			}
		}
	}
	reach := 0
	for _, x := range best {
		if x >= c.Ceiling {
			reach++
		}
	}
	if c.Generic != requests || c.Floor != floor || reach != requests*9/10 || math.Abs(c.GenericAdmitted[0].Tools-float64(over)/requests) > .05 {
		t.Errorf("%d requests, ceiling %v reached by %d, over 1 %v (scores say %v)", c.Generic, c.Ceiling, reach, c.GenericAdmitted[0], float64(over)/requests)
	}
	for name, bad := range map[string]struct {
		vectors map[embed.Model][]embed.Vector
		kind    catalog.Kind
	}{
		"unknown model":  {map[embed.Model][]embed.Vector{{Name: "c"}: vectors[a]}, catalog.NotFound},
		"another length": {map[embed.Model][]embed.Vector{a: vectors[b]}, catalog.Invalid},
		"too few":        {map[embed.Model][]embed.Vector{a: vectors[a], b: vectors[b][1:]}, catalog.Invalid},
	} {
		if err := ix.MeasureGeneric(&c, bad.vectors); err == nil || catalog.KindOf(err) != bad.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none selector.Calibration
	if err := ix.MeasureGeneric(&none, map[embed.Model][]embed.Vector{a: nil}); err != nil || none.Generic != 0 || none.GenericAdmitted != nil {
		t.Errorf("no requests: %+v, %v", none, err)
	}
}
