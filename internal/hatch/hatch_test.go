package hatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/hatch"
)

func TestDefinitions(t *testing.T) {
	tools, groups := office1()
	for _, c := range []struct {
		name  string
		input hatch.MenuInput
		want  []string
		menu  string // in load_tools's description
	}{
		{"load_tools alone", hatch.MenuInput{Tools: tools, Groups: groups}, []string{"load_tools"}, "Groups:\nmail: Read and send mail\ngithub: create issue, merge"},
		{"with a search", hatch.MenuInput{Tools: tools, Groups: groups, Search: true}, []string{"load_tools", "tool_search"}, "\nmail: "},
		{"all three", hatch.MenuInput{Tools: tools, Groups: groups, Search: true, Bridge: true}, []string{"load_tools", "tool_search", "call_tool"}, "\nmail: "},
		{"a group of CORE is not on offer", hatch.MenuInput{Tools: tools, Groups: groups, Core: []string{"github__create_issue", "github__merge"}}, []string{"load_tools"}, "Groups:\nmail: Read and send mail"},
		{"no groups", hatch.MenuInput{Tools: tools, Core: []string{"get_weather"}}, []string{"load_tools"}, "They are about: mail, github, parcel"},
		{"no tools", hatch.MenuInput{}, []string{"load_tools"}, "to get it."},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := hatch.Definitions(c.input)
			var names []string
			for _, d := range list {
				names = append(names, d.Name)
				if !hatch.IsMeta(d.Name) || !json.Valid(d.Schema) || d.Description == "" {
					t.Errorf("%q has the schema %s and the description %q", d.Name, d.Schema, d.Description)
				}
			}
			if fmt.Sprint(names) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q", names, c.want)
			}
			if !strings.Contains(list[0].Description, c.menu) {
				t.Errorf("%q is not in %q", c.menu, list[0].Description)
			}
			checkCost(t, list)
		})
	}
}

func office1() (*catalog.Catalog, []bundles.Bundle) {
	var tools []catalog.Tool
	for _, name := range []string{"get_weather", "github__create_issue", "github__merge", "mail_send", "mail_read", "mail_find", "track_parcel"} {
		tools = append(tools, catalog.Tool{Name: name})
	}
	return catalog.New(tools), []bundles.Bundle{
		{Name: "github", Members: []string{"github__create_issue", "github__merge"}},
		{Name: "mail", Description: "Read and send mail\nand more", Members: []string{"mail_send", "mail_read", "mail_find"}},
	}
}

// checkCost compares the estimate with a rendering of this test's own.
func checkCost(t *testing.T, list []hatch.Definition) {
	t.Helper()
	total := 0
	for _, d := range list {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		if err := e.Encode(map[string]any{"type": "function", "function": map[string]any{"name": d.Name, "description": d.Description, "parameters": json.RawMessage(d.Schema)}}); err != nil {
			t.Fatal(err)
		}
		total += b.Len()
	}
	if tokens := (total + 3) / 4; tokens > hatch.MaxTokens || hatch.EstimatedTokens(list) > hatch.MaxTokens || tokens > hatch.EstimatedTokens(list) {
		t.Errorf("the definitions cost %d tokens by this test, %d by their own account", tokens, hatch.EstimatedTokens(list))
	}
}

func TestDefinitionsOfLargeCatalogs(t *testing.T) {
	for _, n := range []int{40, 200, 20_000} {
		tools, groups := large(n)
		list := hatch.Definitions(hatch.MenuInput{Tools: tools, Groups: groups, Search: true, Bridge: true})
		checkCost(t, list)
		if !strings.Contains(list[0].Description, "server0") || n > 1000 && !strings.Contains(list[0].Description, " more") {
			t.Errorf("%d tools: the menu is %q", n, list[0].Description)
		}
		again := hatch.Definitions(hatch.MenuInput{Tools: tools, Groups: groups, Search: true, Bridge: true})
		if again[0].Description != list[0].Description {
			t.Errorf("the menu differs from one time to the next")
		}
		checkCost(t, hatch.Definitions(hatch.MenuInput{Tools: tools}))
	}
}

func FuzzHatch(f *testing.F) {
	f.Add("get_weather", "mail", "About it", []byte(`{"name":"mail"}`))
	f.Add("a__b", "a", "x\x00\ny", []byte(`{"query":"select:a__b,c"}`))
	f.Add("İstanbulȺȾ", "\xff", "<&>\u2028", []byte(`"İSTANBUL"`))
	f.Fuzz(func(t *testing.T, name, group, description string, arguments []byte) {
		tools := catalog.New([]catalog.Tool{{Name: name, Description: description, Schema: arguments}, {Name: name + "x"}, {Name: "other_tool"}, {Name: group}})
		groups := []bundles.Bundle{{Name: group, Description: description, Members: []string{name, "other_tool", "gone"}}, {Name: name, Members: []string{name + "x", name}}}
		checkCost(t, hatch.Definitions(hatch.MenuInput{Tools: tools, Groups: groups, Search: true, Bridge: true}))
		checkCost(t, hatch.Definitions(hatch.MenuInput{Tools: tools, Groups: groups}))
		checkCost(t, hatch.Definitions(hatch.MenuInput{Tools: tools}))
		loader := hatch.NewLoader(tools, groups)
		exact, _ := json.Marshal(name)
		for _, text := range [][]byte{arguments, exact, []byte(name), []byte(description)} {
			load := loader.Load(text)
			search := loader.Search(text)
			for _, n := range append(load.Names(), search.Names()...) {
				if _, ok := tools.Lookup(n); !ok {
					t.Fatalf("%q is to become visible and does not exist", n)
				}
			}
			if load.Answer(load.Names(), nil) == "" || load.AnswerLate(nil, load.Names(), nil) == "" || search.Answer(nil, search.Names()) == "" {
				t.Fatal("an empty answer")
			}
		}
		var back string
		if json.Unmarshal(exact, &back) == nil && back == name && strings.TrimSpace(name) != "" {
			if load := loader.Load([]byte(`{"name":` + string(exact) + `}`)); len(load.Named) != 1 || load.Named[0] != name {
				t.Fatalf("the tool %q is named and %q found", name, load.Named)
			}
		}
	})
}
