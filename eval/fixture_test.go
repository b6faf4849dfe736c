package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/embed"
	"toolbelt/eval"
)

const householdCatalog = `
{"name":"lights_on","description":"Switch the lamps of a room on.\nTakes the room.","parameters":{"type":"object","properties":{"room":{"type":"string"}}},"bundle":"lights"}
{"name":"lights_off","description":"Switch the lamps of a room off","bundle":"lights"}
{"name":"lights_dim","description":"Dim the lamps of a room to a percentage","bundle":"lights"}
{"name":"send_email","description":"Send an email to a person","bundle":"mail"}
{"name":"read_email","description":"Read the newest emails of the inbox","bundle":"mail"}
{"name":"play_music","description":"Play a song on a loudspeaker","bundle":""}
{"name":"get_weather","description":"Weather forecast for a city"}
{"name":"book_table","description":"Reserve a table in a restaurant"}
{"name":"convert_money","description":"Convert an amount between currencies"}
{"name":"remember","description":"Keep a note for later","core":true}
`

const householdCases = `
{"id":"a1","conversation":"a","turn":1,"messages":[{"role":"user","content":"switch the lamps in the kitchen on"}],"needed":["lights_on"]}
{"id":"a2","conversation":"a","turn":2,"messages":[{"role":"user","content":"switch the lamps in the kitchen on"},{"role":"assistant","content":"Done."},{"role":"user","content":"send an email to Anna about dinner"}],"needed":["send_email"],"steps":["send_email","send_email"]}
{"id":"a3","conversation":"a","turn":3,"messages":[{"role":"user","content":"switch the lamps in the kitchen on"},{"role":"assistant","content":"Done."},{"role":"user","content":"send an email to Anna about dinner"},{"role":"user","content":"thank you"}],"needed":[]}
{"id":"b","group":"g","messages":[{"role":"user","content":[{"type":"text","text":"what will the weather be in Oslo, and play a song for it"}]}],"needed":["get_weather","play_music"],"alt":{"play_music":["radio"]}}
{"id":"c","messages":[{"role":"user","content":"how much are 20 dollars in euros? <script>alert(1)</script> | *"}],"needed":["convert_money","no_such_tool"]}
`

// writeSet writes a set into dir/name and returns dir.
func writeSet(t testing.TB, dir, name string, files map[string]string) string {
	t.Helper()
	for file, text := range files {
		path := filepath.Join(dir, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.TrimPrefix(text, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func household(t testing.TB) *eval.Dataset {
	t.Helper()
	dir := writeSet(t, t.TempDir(), "household", map[string]string{"catalog.jsonl": householdCatalog, "cases.dev.jsonl": householdCases})
	d, err := eval.ReadDataset(filepath.Join(dir, "household"), "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func builtin(t testing.TB) embed.Embedder {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// options are the command's, with a small cap.
func options(t testing.TB) eval.RecallOptions {
	return eval.RecallOptions{Cases: "dev", Ks: []int{1, 3, 5}, Cap: 4, Seed: 1, Embedders: eval.Embedders{First: builtin(t)}}
}

func recall(t testing.TB, o eval.RecallOptions, sets ...*eval.Dataset) *eval.RecallReport {
	t.Helper()
	r, err := eval.Recall(context.Background(), sets, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
