package skills_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/storetest"
	"toolbelt/skills"
	"toolbelt/skills/skillstest"
)

// engine is an embedder that can be broken: it makes a vector of the bytes of a text.
type engine struct {
	name  string
	mu    sync.Mutex
	spoil func(ctx context.Context, good []embed.Vector) ([]embed.Vector, error) // nil where it works
	texts int                                                                    // embedded so far
}

func (e *engine) Model() embed.Model { return embed.Model{Name: e.name, Digest: "d", Dim: 64} }

func (e *engine) Embed(ctx context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors := make([]embed.Vector, len(texts))
	for i, text := range texts {
		vectors[i] = storetest.Vector(uint64(len(text))*7919+uint64(text[0])<<20, 64)
	}
	e.mu.Lock()
	e.texts += len(texts)
	spoil := e.spoil
	e.mu.Unlock()
	if spoil != nil {
		return spoil(ctx, vectors)
	}
	return vectors, nil
}

func (e *engine) Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := e.Embed(ctx, embed.Document, texts)
	return vectors, e.Model(), err
}

func (e *engine) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := e.Embed(ctx, embed.Query, texts)
	return vectors, e.Model(), err
}

func (e *engine) set(spoil func(context.Context, []embed.Vector) ([]embed.Vector, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spoil = spoil
}

func (e *engine) embedded() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.texts
}

func down(context.Context, []embed.Vector) ([]embed.Vector, error) {
	return nil, errors.New("connection refused")
}

// hang is an engine that is given up after a while.
func hang(ctx context.Context, _ []embed.Vector) ([]embed.Vector, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(90 * time.Second):
		return nil, errors.New("no answer")
	}
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t *testing.T, parts skills.Parts) *skills.Library {
	t.Helper()
	if parts.Log == nil {
		parts.Log = discard()
	}
	l, err := skills.Open(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// recalls are the names that the library recalls for exactly the when_to_use of a procedure, by this embedder alone.
func recalls(t *testing.T, l *skills.Library, e embed.Embedder, text string) []string {
	t.Helper()
	q := skills.QueryVectors{e.Model(): embedTexts(t, e, embed.Query, text)[0]}
	return recalledNames(l.Set().Recall(q, 2, skills.DefaultFloor))
}

func named(name string) skills.Procedure {
	return skills.Procedure{Name: name, WhenToUse: "Deploy the " + name + " service to the staging environment", ToolsRequired: []string{"run"}}
}

func wantKind(t *testing.T, err error, kind catalog.Kind, text string) {
	t.Helper()
	if err == nil || catalog.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v of kind %d, want kind %d and %q", err, catalog.KindOf(err), kind, text)
	}
}

func TestLibrary(t *testing.T) {
	ctx, local := t.Context(), builtin(t)
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: local})
	text := named("payments").WhenToUse
	if got := recalls(t, l, local, text); got != nil {
		t.Errorf("an empty library recalls %v", got)
	}
	p, err := l.Add(ctx, named("payments"))
	if err != nil || !p.Enabled || p.Version != 1 {
		t.Fatalf("added as %+v, %v", p, err)
	}
	if got := recalls(t, l, local, text); !slices.Equal(got, []string{"payments"}) {
		t.Errorf("just added, but recalled is %v", got)
	}
	_, err = l.Add(ctx, named("payments"))
	wantKind(t, err, catalog.Conflict, `"payments"`)
	_, err = l.Add(ctx, named("Payments"))
	wantKind(t, err, catalog.Invalid, "name")
	_, err = l.Save(ctx, skills.Procedure{Name: "x", WhenToUse: "y"})
	wantKind(t, err, catalog.Invalid, "tools_required")

	if p, err = l.Disable(ctx, "payments"); err != nil || p.Enabled || p.Version != 2 {
		t.Errorf("disabled as %+v, %v", p, err)
	}
	if got := recalls(t, l, local, text); got != nil {
		t.Errorf("disabled, but recalled is %v", got)
	}
	if p, err = l.Disable(ctx, "payments"); err != nil || p.Version != 2 {
		t.Errorf("disabled again as %+v, %v; want version 2 still", p, err)
	}
	if p, err = l.Enable(ctx, "payments"); err != nil || !p.Enabled {
		t.Errorf("enabled as %+v, %v", p, err)
	}
	if err := l.Count(ctx, "payments", true); err != nil {
		t.Error(err)
	}
	shown, err := l.Show(ctx, "payments")
	if err != nil || shown.Attempts != 1 || shown.Successes != 1 {
		t.Errorf("shown as %+v, %v", shown, err)
	}
	q := skills.QueryVectors{local.Model(): embedTexts(t, local, embed.Query, text)[0]}
	if got := l.Set().Recall(q, 1, skills.DefaultFloor); len(got) != 1 || !reflect.DeepEqual(got[0].Procedure, shown) || got[0].Score < 0.99 {
		t.Errorf("recalled %+v, want %+v as shown", got, shown)
	}
	shown.WhenToUse = "Bake a wedding cake with three tiers"
	if _, err := l.Save(ctx, shown); err != nil {
		t.Error(err)
	}
	if old, now := recalls(t, l, local, text), recalls(t, l, local, shown.WhenToUse); old != nil || len(now) != 1 {
		t.Errorf("after the change, the former text recalls %v and the new one %v", old, now)
	}
	if list, err := l.List(ctx); err != nil || len(list) != 1 {
		t.Errorf("list %v, %v", list, err)
	}
	if err := l.Remove(ctx, "payments"); err != nil || l.Set().Len() != 0 {
		t.Errorf("removed (%v), but the set has %d", err, l.Set().Len())
	}
}

func TestLibraryNamesWhatIsNotThere(t *testing.T) {
	ctx := t.Context()
	l := open(t, skills.Parts{Store: skillstest.NewMemory()})
	for name, call := range map[string]func() error{
		"Show":    func() error { _, err := l.Show(ctx, "nope"); return err },
		"Enable":  func() error { _, err := l.Enable(ctx, "nope"); return err },
		"Disable": func() error { _, err := l.Disable(ctx, "nope"); return err },
		"Remove":  func() error { return l.Remove(ctx, "nope") },
		"Count":   func() error { return l.Count(ctx, "nope", true) },
	} {
		t.Run(name, func(t *testing.T) { wantKind(t, call(), catalog.NotFound, `"nope"`) })
	}
}

func TestLibraryNeedsItsStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Memory refuses
	if _, err := skills.Open(ctx, skills.Parts{Store: skillstest.NewMemory(), Log: discard()}); err == nil {
		t.Error("made a library of a store that cannot be read")
	}
}

func TestLibraryGoesOnWithoutTheEngine(t *testing.T) {
	for name, spoil := range map[string]func(context.Context, []embed.Vector) ([]embed.Vector, error){
		"down":    down,
		"too few": func(_ context.Context, v []embed.Vector) ([]embed.Vector, error) { return v[1:], nil },
		"another length": func(_ context.Context, v []embed.Vector) ([]embed.Vector, error) {
			v[0] = v[0][1:]
			return v, nil
		},
		"NaN": func(_ context.Context, v []embed.Vector) ([]embed.Vector, error) {
			v[0][0] = float32(math.NaN())
			return v, nil
		},
		"zero": func(_ context.Context, v []embed.Vector) ([]embed.Vector, error) { clear(v[0]); return v, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var lines bytes.Buffer
			local, neural := builtin(t), &engine{name: "neural", spoil: spoil}
			l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: local, Neural: neural, Log: slog.New(slog.NewTextHandler(&lines, nil))})
			text := named("payments").WhenToUse
			if _, err := l.Add(t.Context(), named("payments")); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := l.Reload(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if got := recalls(t, l, local, text); len(got) != 1 {
				t.Errorf("without the engine, recalled is %v", got)
			}
			if got := recalls(t, l, &engine{name: "neural"}, text); got != nil {
				t.Errorf("the engine made nothing good, but by its vectors %v is recalled", got)
			}
			if n := strings.Count(lines.String(), "level=WARN"); n != 1 {
				t.Errorf("%d warnings, want one:\n%s", n, &lines)
			}
			neural.set(nil)
			if err := l.Reload(t.Context()); err != nil {
				t.Error(err)
			}
			if got := recalls(t, l, neural, text); len(got) != 1 {
				t.Errorf("with the engine back, recalled is %v", got)
			}
			if n := strings.Count(lines.String(), "\n"); n != 2 {
				t.Errorf("%d lines of log, want a second one that it works again:\n%s", n, &lines)
			}
		})
	}
}

func TestLibraryAsksTheEngineOnce(t *testing.T) {
	ctx, neural := t.Context(), &engine{name: "neural"}
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: builtin(t), Neural: neural})
	reload := func(want int) {
		t.Helper()
		before := neural.embedded()
		if err := l.Reload(ctx); err != nil {
			t.Fatal(err)
		}
		if got := neural.embedded() - before; got != want {
			t.Errorf("the engine embedded %d texts, want %d", got, want)
		}
	}
	reload(0) // no skills, nothing to ask for
	for i := range 7 {
		if _, err := l.Add(ctx, named(fmt.Sprint("service-", i))); err != nil {
			t.Fatal(err)
		}
	}
	twin := named("service-3")
	twin.Name = "twin"
	if _, err := l.Add(ctx, twin); err != nil {
		t.Fatal(err)
	}
	reload(len(skills.Background()) + 7)
	reload(0)
	if err := l.Count(ctx, "twin", true); err != nil {
		t.Fatal(err)
	}
	reload(0)
	if _, err := l.Add(ctx, named("late")); err != nil {
		t.Fatal(err)
	}
	reload(1)
	if got := recalls(t, l, neural, twin.WhenToUse); len(got) != 2 {
		t.Errorf("by the engine's vectors recalled is %v, want two", got)
	}
}

// An engine whose model is replaced while the daemon runs starts over: vectors of two models never meet.
func TestLibraryWhenTheModelChanges(t *testing.T) {
	ctx, neural := t.Context(), &engine{name: "former"}
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Neural: neural})
	for _, name := range []string{"first", "second"} {
		if _, err := l.Add(ctx, named(name)); err != nil {
			t.Fatal(err)
		}
		if err := l.Reload(ctx); err != nil {
			t.Fatal(err)
		}
		neural.name = "new"
	}
	if got := recalls(t, l, &engine{name: "former"}, named("first").WhenToUse); got != nil {
		t.Errorf("by the former model's vectors %v is recalled", got)
	}
	if err := l.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		if got := recalls(t, l, neural, named(name).WhenToUse); len(got) == 0 {
			t.Errorf("by the new model's vectors %q is not recalled", name)
		}
	}
}

// What embed.Neural says of itself is not said again.
func TestLibraryIsSilentAboutAnAbsentEngine(t *testing.T) {
	for _, err := range []error{embed.ErrNotReady, embed.ErrOff, embed.ErrOpen} {
		var lines bytes.Buffer
		neural := &engine{name: "neural", spoil: func(context.Context, []embed.Vector) ([]embed.Vector, error) { return nil, err }}
		l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: builtin(t), Neural: neural, Log: slog.New(slog.NewTextHandler(&lines, nil))})
		if _, err := l.Add(t.Context(), named("payments")); err != nil {
			t.Fatal(err)
		}
		if err := l.Reload(t.Context()); err != nil || lines.Len() > 0 {
			t.Errorf("reloaded with %v, logged %q", err, &lines)
		}
	}
}

// The hash that a skill is stored with leads to the vectors that embed.Neural stores of it.
func TestDocumentHash(t *testing.T) {
	vectors, local := storetest.NewMemory(), builtin(t)
	n := embed.NewNeural(t.Context(), embed.NeuralConfig{Store: vectors}, func(context.Context) (embed.Embedder, error) { return local, nil })
	defer n.Close()
	<-n.Ready()
	text := named("payments").WhenToUse
	if _, _, err := n.Documents(t.Context(), []string{text}); err != nil {
		t.Fatal(err)
	}
	found, err := vectors.Vectors(t.Context(), local.Model(), []catalog.Hash{skills.DocumentHash(text)})
	if err != nil || len(found) != 1 {
		t.Errorf("found %d vectors, %v", len(found), err)
	}
}

// A hanging engine holds up neither a change nor recall; Run asks it again and sees what another process stored.
func TestLibraryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := skillstest.NewMemory()
		neural := &engine{name: "neural", spoil: hang}
		local := &engine{name: "local"}
		l := open(t, skills.Parts{Store: store, Local: local, Neural: neural})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.Run(ctx, time.Minute); close(done) }()
		synctest.Wait()

		start := time.Now()
		if _, err := l.Add(ctx, named("payments")); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("a change waited %v for the engine", waited)
		}
		if got := recalls(t, l, local, named("payments").WhenToUse); len(got) != 1 {
			t.Errorf("recalled %v", got)
		}
		p := named("billing-and-much-more")
		p.Enabled = true
		if _, err := store.SaveProcedure(ctx, p); err != nil { // as another process would
			t.Error(err)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := recalls(t, l, local, p.WhenToUse); !slices.Contains(got, p.Name) {
			t.Errorf("while the engine hangs, recalled is %v, want what another process stored", got)
		}
		neural.set(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := recalls(t, l, neural, p.WhenToUse); !slices.Contains(got, p.Name) {
			t.Errorf("with the engine back, recalled is %v by its vectors", got)
		}
		cancel()
		<-done
	})
}

func TestLibraryConcurrently(t *testing.T) {
	local, neural := builtin(t), &engine{name: "neural"}
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: local, Neural: neural})
	ctx, cancel := context.WithCancel(t.Context())
	var runs, wg sync.WaitGroup
	runs.Go(func() { l.Run(ctx, time.Millisecond) })
	added := make([]bool, 4)
	for w := range added {
		wg.Go(func() {
			_, err := l.Add(ctx, named("same"))
			added[w] = err == nil
			for i := range 10 {
				name := fmt.Sprintf("w%d-%d", w, i)
				if _, err := l.Add(ctx, named(name)); err != nil {
					t.Error(err)
				}
				if err := l.Count(ctx, name, i%2 == 0); err != nil {
					t.Error(err)
				}
				if _, err := l.Disable(ctx, name); err != nil {
					t.Error(err)
				}
				if _, err := l.Enable(ctx, "same"); err != nil {
					t.Error(err)
				}
				recalls(t, l, neural, named(name).WhenToUse)
				if err := l.Remove(ctx, name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	cancel()
	runs.Wait()
	if n := slices.Index(added, true); n < 0 || slices.Contains(added[n+1:], true) {
		t.Errorf("one name was added by %v, want exactly one", added)
	}
	if got := recalls(t, l, local, named("same").WhenToUse); !slices.Equal(got, []string{"same"}) || l.Set().Len() != 1 {
		t.Errorf("in the end %d skills are recallable, recalled is %v", l.Set().Len(), got)
	}
}
