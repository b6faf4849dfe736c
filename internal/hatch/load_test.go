package hatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/hatch"
)

// office is a small catalog with two groups, a tool that is named like a group, and names that differ in their separators only.
func office() *hatch.Loader {
	var tools []catalog.Tool
	for _, name := range []string{
		"get_weather", "github__create_issue", "github__list_issues", "github__merge", "mail", "mail.send", "mail.read", "readFile",
		"files.stat", "files/stat", "Files_Stat", "track_parcel", "wiki_open", "wiki_edit",
	} {
		tools = append(tools, catalog.Tool{Name: name, Description: "About " + name, Schema: []byte(`{"type":"object"}`)})
	}
	return hatch.NewLoader(catalog.New(tools), []bundles.Bundle{
		{Name: "github", Members: []string{"github__create_issue", "github__list_issues", "github__merge", "gone"}},
		{Name: "mail", Members: []string{"mail.send", "mail.read"}},
		{Name: "Wiki Pages", Members: []string{"wiki_open", "wiki_edit"}},
	})
}

var (
	githubTools = []string{"github__create_issue", "github__list_issues", "github__merge"}
	mailTools   = []string{"mail.send", "mail.read"}
)

func TestLoadResolves(t *testing.T) {
	for _, c := range []struct {
		name, arguments string
		named, mates    []string
		bundle          string
		says            string // in the answer
	}{
		{"a tool", `{"name":"get_weather"}`, []string{"get_weather"}, nil, "get_weather", ""},
		{"a group", `{"name":"github"}`, nil, githubTools, "github", ""},
		{"a tool before a group of its name", `{"name":"mail"}`, []string{"mail"}, nil, "mail", `is a tool and a group`},
		{"a group where the key says so", `{"bundle":"mail"}`, nil, mailTools, "mail", ""},
		{"a tool by the key for groups", `{"group":"readFile"}`, []string{"readFile"}, nil, "readFile", ""},
		{"other case", `{"name":"GET_Weather"}`, []string{"get_weather"}, nil, "get_weather", `There is no "GET_Weather". It was taken to mean get_weather.`},
		{"a group in other case", `{"name":"GitHub"}`, nil, githubTools, "github", "the group github"},
		{"spaces", `{"name":"get weather"}`, []string{"get_weather"}, nil, "get_weather", "taken"},
		{"dashes", `{"name":"get-weather"}`, []string{"get_weather"}, nil, "get_weather", "taken"},
		{"camel case", `{"name":"read_file"}`, []string{"readFile"}, nil, "readFile", "taken"},
		{"another separator", `{"name":"github.create_issue"}`, []string{"github__create_issue"}, nil, "github__create_issue", "taken"},
		{"and back", `{"name":"mail__send"}`, []string{"mail.send"}, nil, "mail.send", "taken"},
		{"its own case goes first", `{"name":"files_stat"}`, []string{"Files_Stat"}, nil, "Files_Stat", "taken"},
		{"all that are spelled alike", `{"name":"files-stat"}`, []string{"files.stat", "files/stat", "Files_Stat"}, nil, "files.stat", "taken"},
		{"a slip", `{"name":"get_waether"}`, []string{"get_weather"}, nil, "get_weather", "taken"},
		{"a slip in a group", `{"name":"githb"}`, nil, githubTools, "github", "the group github"},
		{"without its server", `{"name":"create_issue"}`, []string{"github__create_issue"}, nil, "github__create_issue", "taken"},
		{"with a space of names before", `{"name":"functions.get_weather"}`, []string{"get_weather"}, nil, "get_weather", ""},
		{"words around", `{"name":"the github tools"}`, nil, githubTools, "github", ""},
		{"quotes within", `{"name":"'github'"}`, nil, githubTools, "github", ""},
		{"a word of the name", `{"name":"weather"}`, []string{"get_weather"}, nil, "get_weather", "taken"},
		{"a plural", `{"name":"parcels"}`, []string{"track_parcel"}, nil, "track_parcel", "taken"},
		{"a list", `{"names":["get_weather","github"]}`, []string{"get_weather"}, githubTools, "get_weather", ""},
		{"a tool and its group", `{"names":["github__merge","github"]}`, []string{"github__merge"}, []string{"github__create_issue", "github__list_issues"}, "github__merge", ""},
		{"twice the same", `{"names":["mail.read","mail.read"]}`, []string{"mail.read"}, nil, "mail.read", ""},
		{"a list written as one", `{"name":"get_weather, mail.read"}`, []string{"get_weather", "mail.read"}, nil, "get_weather", ""},
		{"tools", `{"tool":"mail.read"}`, []string{"mail.read"}, nil, "mail.read", ""},
		{"objects", `{"tools":[{"name":"mail.read"}]}`, []string{"mail.read"}, nil, "mail.read", ""},
		{"a key of its own", `{"tool_name":"mail.read"}`, []string{"mail.read"}, nil, "mail.read", ""},
		{"a bare string", `"github"`, nil, githubTools, "github", ""},
		{"a bare list", `["github"]`, nil, githubTools, "github", ""},
		{"JSON in a string", `"{\"name\":\"github\"}"`, nil, githubTools, "github", ""},
		{"no JSON", `github`, nil, githubTools, "github", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := office().Load([]byte(c.arguments))
			if !slices.Equal(got.Named, c.named) || !slices.Equal(got.Mates, c.mates) || got.Bundle != c.bundle || got.Missed() {
				t.Fatalf("named %q, mates %q, bundle %q, missed %v; want %q, %q, %q", got.Named, got.Mates, got.Bundle, got.Missed(), c.named, c.mates, c.bundle)
			}
			if !slices.Equal(got.Names(), append(slices.Clone(c.named), c.mates...)) {
				t.Errorf("Names() = %q", got.Names())
			}
			answer := got.Answer(got.Names(), nil)
			if !strings.Contains(answer, c.says) || c.says == "" && strings.Contains(answer, "There is no") {
				t.Errorf("the answer is %q, want %q in it", answer, c.says)
			}
		})
	}
}

func TestLoadMisses(t *testing.T) {
	for _, c := range []struct {
		name, arguments, says string
	}{
		{"nothing like it", `{"name":"blockchain"}`, `There is no tool and no group "blockchain".`},
		{"a slip in a short name", `{"name":"mxil"}`, "mail"},
		{"words that many have", `{"name":"open the pod bay doors"}`, "There is no"},
		{"no arguments", ``, `No name could be read. Call load_tools like this: {"name": "github"}.`},
		{"an empty object", `{}`, "No name could be read"},
		{"an empty name", `{"name":"  "}`, "No name could be read"},
		{"a number", `{"name":5}`, "No name could be read"},
		{"null", `null`, "No name could be read"},
		{"cut off", `{"name":"git`, "No name could be read"},
		{"a sentence", "please\nload {github}", "No name could be read"},
		{"a megabyte", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, "No name could be read"},
		{"sixty kilobytes", `{"name":"` + strings.Repeat("x", 60<<10) + `"}`, `There is no tool and no group "xxx`},
		{"control bytes", `{"name":"\u0000\u001b[31m"}`, "There is no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := office().Load([]byte(c.arguments))
			answer := got.Answer(got.Names(), nil)
			if c.name == "a slip in a short name" { // one slip is allowed from four letters on, and mail is the only one that near
				if got.Missed() || !slices.Equal(got.Named, []string{"mail"}) {
					t.Fatalf("named %q", got.Named)
				}
				return
			}
			if !got.Missed() || len(got.Names()) > 0 || got.Bundle != "" {
				t.Fatalf("%q was found: %q", c.arguments, got.Names())
			}
			if !strings.Contains(answer, c.says) || !strings.Contains(answer, "github") || !strings.Contains(answer, "get_weather") {
				t.Errorf("the answer is %q: want %q in it, and what there is", answer, c.says)
			}
			if len(answer) > 2000 || strings.ContainsFunc(answer, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
				t.Errorf("the answer is %d bytes: %q", len(answer), answer)
			}
		})
	}
}

func TestAmbiguousSlipIsAMiss(t *testing.T) {
	loader := hatch.NewLoader(catalog.New([]catalog.Tool{{Name: "read_mail"}, {Name: "read_main"}, {Name: "other"}}), nil)
	got := loader.Load([]byte(`{"name":"read_maix"}`))
	answer := got.Answer(nil, nil)
	if !got.Missed() || !strings.Contains(answer, "Tools: read_mail, read_main, other.") {
		t.Errorf("named %q, answered %q: want a miss that lists the nearest first", got.Named, answer)
	}
}

func TestMissInAListLoadsTheRest(t *testing.T) {
	got := office().Load([]byte(`{"names":["get_weather","blockchain"]}`))
	answer := got.Answer(got.Named, nil)
	if !got.Missed() || !slices.Equal(got.Named, []string{"get_weather"}) ||
		!strings.Contains(answer, "You can call these tools now: get_weather.") || !strings.Contains(answer, `no group "blockchain"`) {
		t.Errorf("named %q, answered %q", got.Named, answer)
	}
}

func TestAnswerTellsWhatIsVisible(t *testing.T) {
	load := office().Load([]byte(`{"name":"github"}`))
	answer := load.Answer([]string{"github__create_issue"}, []string{"github__list_issues", "github__merge"})
	want := "You can call these tools now: github__create_issue.\n" +
		"There is no room for: github__list_issues, github__merge. If you need one of them, call load_tools with its name."
	if answer != want {
		t.Errorf("got %q, want %q", answer, want)
	}
}

func TestMissListsThirtyOfMany(t *testing.T) {
	tools, groups := large(5000)
	answer := hatch.NewLoader(tools, groups).Load([]byte(`{"name":"rename item 777 of the moon"}`)).Answer(nil, nil)
	if !strings.Contains(answer, "Groups (10 of 500): ") || !strings.Contains(answer, "Tools (20 of 5000): server77__export_item_777, ") && !strings.Contains(answer, "__rename_item_") {
		t.Errorf("the answer is %q", answer)
	}
	if n := strings.Count(answer, "server"); n > 60 || len(answer) > 2000 {
		t.Errorf("the answer has %d bytes and %d names", len(answer), n)
	}
}

func TestEmptyCatalog(t *testing.T) {
	for _, loader := range []*hatch.Loader{hatch.NewLoader(nil, nil), hatch.NewLoader(catalog.New(nil), []bundles.Bundle{{Name: "empty", Members: []string{"x"}}})} {
		load := loader.Load([]byte(`{"name":"x"}`))
		if answer := load.Answer(nil, nil); !strings.Contains(answer, "There are no tools.") {
			t.Errorf("the answer is %q", answer)
		}
		search := loader.Search([]byte(`{"query":"x"}`))
		if answer := search.Answer(nil, nil); !strings.Contains(answer, "There are no tools.") {
			t.Errorf("the answer is %q", answer)
		}
	}
}

func TestOddNamesAreQuoted(t *testing.T) {
	odd := "a\x00b\nc, \"d\""
	loader := hatch.NewLoader(catalog.New([]catalog.Tool{{Name: odd}, {Name: strings.Repeat("長", 500)}, {Name: "\xff\xfe"}}), nil)
	answer := loader.Load([]byte(`{"name":"zzz"}`)).Answer([]string{odd}, nil)
	if !strings.Contains(answer, `"a\u0000b\nc, \"d\""`) || len(answer) > 2000 || strings.Count(answer, "\n") != 2 {
		t.Errorf("the answer is %q", answer)
	}
	if got := loader.Load([]byte(`{"name":"a\u0000b\nc, \"d\""}`)); !slices.Equal(got.Named, []string{odd}) {
		t.Errorf("the odd name does not load: %q", got.Named)
	}
}

func TestLateAnswerBringsDefinitions(t *testing.T) {
	tools := catalog.New([]catalog.Tool{
		{Name: "a", Description: "Does <a> & b", Schema: []byte("{ \"type\": \"object\",\n \"properties\": {} }")}, {Name: "b", Schema: []byte("{broken")}, {Name: "c"},
	})
	load := hatch.NewLoader(tools, nil).Load([]byte(`{"names":["a","b","c"]}`))
	got := load.AnswerLate([]string{"c"}, []string{"a", "b"}, nil)
	want := "You can call these tools now: c.\n" +
		`You have more tools now. Call them with call_tool, like this: {"name": "a", "arguments": {…}}.` + "\n" +
		"a(): Does <a> & b\n" + `{"name":"b"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if hatch.LateText(nil) != "" {
		t.Error("no tools are announced")
	}
}

func TestLoadIsDeterministic(t *testing.T) {
	tools, groups := large(300)
	first := fmt.Sprintf("%+v", hatch.NewLoader(tools, groups).Load([]byte(`{"name":"no such item"}`)).Answer(nil, nil))
	for range 5 {
		if again := fmt.Sprintf("%+v", hatch.NewLoader(tools, groups).Load([]byte(`{"name":"no such item"}`)).Answer(nil, nil)); again != first {
			t.Fatalf("got %s, then %s", first, again)
		}
	}
}
