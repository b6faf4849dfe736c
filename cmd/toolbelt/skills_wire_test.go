package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// settings are a configuration as its file's text says.
func settings(t testing.TB, environ ...string) config.Config {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Environ: append(environ, "HOME="+t.TempDir()), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestWhatIsDoneHereIsLearnedAndRecalled is the way from what a daemon observes to the tools of a like request.
func TestWhatIsDoneHereIsLearnedAndRecalled(t *testing.T) {
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "t.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	library, err := skills.Open(ctx, skills.Parts{Store: db, Local: builtin, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	o := newObserving(settings(t), db, library, builtin, log)
	if o.recorder == nil {
		t.Fatal("nothing is observed")
	}
	for i, goal := range []string{"start the engine of the car", "please start my car's engine", "get the engine started now", "fire up the car's engine"} {
		key := fmt.Sprint(i)
		o.recorder.Began(key, runs.Began{App: "app", Session: key, Goal: goal})
		for _, name := range []string{"lock_doors", "press_brake", "start_engine"} {
			o.recorder.Called(key, []runs.Call{{Name: name, Arguments: []string{"mode"}}})
		}
	}
	o.close()
	if _, done, err := o.learning.Learn(ctx); err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	v, err := builtin.Embed(ctx, embed.Query, []string{"could you start the engine, please?"})
	if err != nil {
		t.Fatal(err)
	}
	recalled := library.Set().Choose(skills.QueryVectors{builtin.Model(): v[0]}, skills.MostRecalled, skills.DefaultFloor, nil)
	if len(recalled) != 1 || !slices.Equal(recalled[0].Procedure.ToolsRequired, []string{"lock_doors", "press_brake", "start_engine"}) {
		t.Errorf("recalled %+v", recalled)
	}

	// A run that recalled the skill and did without its tools counts against it.
	again := newObserving(settings(t), db, library, builtin, log)
	again.recorder.Began("9", runs.Began{App: "app", Session: "9", Goal: "start the engine", Skills: []string{recalled[0].Procedure.Name}})
	again.recorder.Called("9", []runs.Call{{Name: "mail"}})
	again.close()
	if p, err := library.Show(ctx, recalled[0].Procedure.Name); err != nil || p.Unused != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNothingIsObservedWhereThatIsOff(t *testing.T) {
	for _, setting := range []string{"TOOLBELT_LEARN=off", "TOOLBELT_MEMORY=off", "TOOLBELT_MODE=off", "TOOLBELT_EMBEDDER=off"} {
		if o := newObserving(settings(t, setting), nil, nil, nil, nil); o.recorder != nil || o.learning != nil {
			t.Errorf("with %s it is observed", setting)
		}
	}
	observing{}.close()
	observing{}.run(t.Context())
}
