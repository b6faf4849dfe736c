package bundles_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

func catalogOf(names ...string) *catalog.Catalog {
	var tools []catalog.Tool
	for _, n := range names {
		tools = append(tools, catalog.Tool{Name: n})
	}
	return catalog.New(tools)
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		list []bundles.Bundle
		want string // part of the error, "" for none
	}{
		{"none", nil, ""},
		{"good", []bundles.Bundle{{Name: "files", Members: []string{"read", "write"}}}, ""},
		{"one tool in two bundles", []bundles.Bundle{{Name: "a", Members: []string{"x"}}, {Name: "b", Members: []string{"x"}}}, ""},
		{"no name", []bundles.Bundle{{Members: []string{"x"}}}, "has no name"},
		{"same name", []bundles.Bundle{{Name: "a", Members: []string{"x"}}, {Name: "a", Members: []string{"y"}}}, `bundle 2 ("a") has the name of an earlier`},
		{"no members", []bundles.Bundle{{Name: "a"}}, "has no members"},
		{"member twice", []bundles.Bundle{{Name: "a", Members: []string{"x", "x"}}}, `repeated member "x"`},
		{"empty member", []bundles.Bundle{{Name: "a", Members: []string{""}}}, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := bundles.Validate(c.list)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Validate: %v, want %q", err, c.want)
			}
			if err != nil && catalog.KindOf(err) != catalog.Invalid {
				t.Errorf("kind %v", catalog.KindOf(err))
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	for name, want := range map[string]string{
		"github__create_issue": "github", "files.read": "files", "plain": "", "__odd": "", "odd__": "", "a__b.c": "a", ".x": "", "検索__会社": "検索",
	} {
		if got, ok := bundles.Prefix(name); got != want || ok != (want != "") {
			t.Errorf("Prefix(%q) = %q, %v", name, got, ok)
		}
	}
}

func TestExpand(t *testing.T) {
	cat := catalogOf("mail__send", "mail__read", "mail__list", "clock", "read_file", "write_file", "solo__one")
	set := bundles.NewSet(cat, []bundles.Bundle{{Name: "files", Members: []string{"read_file", "write_file", "gone"}}})
	open := func(scores map[string]float64, names ...string) []string {
		var openers []bundles.Opener
		for _, n := range names {
			id, _ := cat.Lookup(n)
			openers = append(openers, bundles.Opener{ID: id, Score: scores[n]})
		}
		var mates []string
		for _, m := range set.Expand(openers, 2, 3) {
			mates = append(mates, cat.Tool(m.ID).Name)
		}
		return mates
	}
	strong := map[string]float64{"mail__send": 6, "mail__read": 7, "read_file": 8, "clock": 9, "solo__one": 9}
	for _, c := range []struct {
		name    string
		openers []string
		want    []string
	}{
		{"by prefix", []string{"mail__send"}, []string{"mail__read", "mail__list"}},
		{"by configuration, without the tool that is gone", []string{"read_file"}, []string{"write_file"}},
		{"the strongest opener's mates first", []string{"mail__send", "read_file"}, []string{"write_file", "mail__read", "mail__list"}},
		{"an opener is no mate", []string{"mail__send", "mail__read"}, []string{"mail__list"}},
		{"in no bundle", []string{"clock", "solo__one"}, nil},
		{"no openers", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := open(strong, c.openers...); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := open(map[string]float64{"mail__send": 4.9}, "mail__send"); got != nil {
		t.Errorf("a match that the discount takes under the floor brought %q", got)
	}
}

// Expand over any bundles and openers gives what the plain way does: each opener in order of its score, each of its bundles, each member that was not there.
func TestExpandAgainstThePlainWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		var names []string
		for i := range 3 + rng.IntN(12) {
			names = append(names, fmt.Sprintf("tool_%d", i))
		}
		cat := catalogOf(names...)
		var list []bundles.Bundle
		for i := range rng.IntN(4) {
			b := bundles.Bundle{Name: fmt.Sprint("bundle ", i)}
			for _, at := range rng.Perm(len(names))[:2+rng.IntN(len(names)-2)] {
				b.Members = append(b.Members, names[at])
			}
			list = append(list, b)
		}
		var openers []bundles.Opener
		var there []catalog.ID
		for _, at := range rng.Perm(len(names))[:rng.IntN(len(names))] {
			openers = append(openers, bundles.Opener{ID: catalog.ID(at), Score: float64(10 - len(openers))})
			there = append(there, catalog.ID(at))
		}
		var want []bundles.Mate
		for _, o := range openers {
			for _, b := range list {
				for _, member := range b.Members {
					id, _ := cat.Lookup(member)
					if o.Score-2 >= 5 && slices.Contains(b.Members, cat.Tool(o.ID).Name) && !slices.Contains(there, id) {
						there, want = append(there, id), append(want, bundles.Mate{ID: id, Score: o.Score - 2})
					}
				}
			}
		}
		rng.Shuffle(len(openers), func(i, j int) { openers[i], openers[j] = openers[j], openers[i] })
		if got := bundles.NewSet(cat, list).Expand(openers, 2, 5); !slices.Equal(got, want) {
			t.Fatalf("of %+v, %+v bring %+v, want %+v", list, openers, got, want)
		}
	}
}

func TestList(t *testing.T) {
	cat := catalog.New([]catalog.Tool{{Name: "a__x"}, {Name: "a__y"}, {Name: "read"}, {Name: "write"}, {Name: "alone"}})
	set := bundles.NewSet(cat, []bundles.Bundle{{Name: "files", Description: "the disk", Members: []string{"write", "read", "gone"}}})
	want := []bundles.Bundle{{Name: "files", Description: "the disk", Members: []string{"write", "read"}}, {Name: "a", Members: []string{"a__x", "a__y"}}}
	if got := set.List(cat); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (*bundles.Set)(nil).List(cat); got != nil {
		t.Errorf("the nil set has %+v", got)
	}
}
