package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/tidwall/gjson"
)

// A recall is counted once, whether an outcome names the skill, tells of the run alone, or nobody says anything.
func TestARecalledSkillIsCountedOnce(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	for _, c := range []struct {
		name, said string // of the outcome, behind what was called
		successes  int64
	}{
		{"it failed, by name", `,"skill":"weekly-report","success":false`, 0},
		{"it did the job, by name", `,"skill":"weekly-report","success":true`, 1},
		{"the run failed", `,"success":false`, 0},
		{"the run did the job", `,"success":true`, 1},
		{"nothing is said", ``, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := "TOOLBELT_DB=" + filepath.Join(t.TempDir(), "t.db")
			d := start(t, engine.URL, db, "TOOLBELT_MAX_TOOLS=2")
			post(t, d.url+"/toolbelt/v1/skills", `{"name":"weekly-report","when_to_use":"write the weekly report","tools_required":["read_numbers","send_mail"]}`)
			chosen := post(t, d.url+"/toolbelt/v1/select", `{"session":"s","messages":[{"role":"user","content":"please write the weekly report"}],"tools":`+tools(t)+`}`)
			if gjson.Get(chosen, `tools.#(name="read_numbers").reason`).String() != "skill" {
				t.Fatalf("the skill is not recalled: %s", chosen)
			}
			post(t, d.url+"/toolbelt/v1/outcomes", fmt.Sprintf(`{"session":"s","called":["read_numbers","send_mail"]%s}`, c.said))
			if err := d.end(); err != nil {
				t.Fatal(err)
			}
			again := start(t, engine.URL, db)
			_, skill := get(t, again.url+"/toolbelt/v1/skills/weekly-report")
			if got := gjson.Get(skill, "attempts").Int(); got != 1 {
				t.Errorf("%d attempts: %s", got, skill)
			}
			if got := gjson.Get(skill, "successes").Int(); got != c.successes {
				t.Errorf("%d successes: %s", got, skill)
			}
		})
	}
}
