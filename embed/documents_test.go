package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

// memory is a Store in memory.
type memory struct {
	mu      sync.Mutex
	vectors map[embed.Model]map[catalog.Hash]embed.Vector
	err     error
}

func (s *memory) Vectors(_ context.Context, m embed.Model, docs []catalog.Hash) (map[catalog.Hash]embed.Vector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[catalog.Hash]embed.Vector{}
	for _, h := range docs {
		if v, ok := s.vectors[m][h]; ok {
			found[h] = v
		}
	}
	return found, s.err
}

func (s *memory) PutVectors(_ context.Context, m embed.Model, docs []catalog.Hash, vectors []embed.Vector) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.vectors == nil {
		s.vectors = map[embed.Model]map[catalog.Hash]embed.Vector{}
	}
	if s.vectors[m] == nil {
		s.vectors[m] = map[catalog.Hash]embed.Vector{}
	}
	for i, h := range docs {
		s.vectors[m][h] = vectors[i]
	}
	return nil
}

func documents(count int) []string {
	texts := []string{"", "twice", "twice"}
	for i := range count {
		texts = append(texts, fmt.Sprint("document ", i))
	}
	return texts
}

func checkDocuments(t *testing.T, n *embed.Neural, texts []string) {
	t.Helper()
	vs, m, err := n.Documents(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := embedtest.NewFake("", m.Dim).Embed(t.Context(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != len(texts) {
		t.Fatalf("%d vectors for %d documents", len(vs), len(texts))
	}
	for i := range vs {
		compare(t, texts[i], vs[i], want[i], 1e-6)
	}
}

func TestDocumentsEmbedNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, texts := &memory{}, documents(40)
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{Store: store}, f)
		checkDocuments(t, n, texts)
		if got := len(f.Texts()); got != 42 {
			t.Errorf("%d texts were embedded, want 42", got)
		}
		n.Close()

		restarted := embedtest.NewFake("fake", 16)
		n = neural(t, embed.NeuralConfig{Store: store}, restarted)
		checkDocuments(t, n, append(texts, "new"))
		if got := restarted.Texts(); len(got) != 2 || got[0] != "" || got[1] != "new" {
			t.Errorf("after a restart %q were embedded, want the blank and the new one", got)
		}

		other := embedtest.NewFake("fake", 24) // the same name with another dimension is another model
		checkDocuments(t, neural(t, embed.NeuralConfig{Store: store}, other), texts)
		if got := len(other.Texts()); got != 42 {
			t.Errorf("%d texts were embedded for another model, want 42", got)
		}
	})
}

func TestDocumentsKeepWhatWasDone(t *testing.T) {
	for _, fault := range embedtest.Faults() {
		synctest.Test(t, func(t *testing.T) {
			store, f := &memory{}, embedtest.NewFake("fake", 16)
			n := neural(t, embed.NeuralConfig{Store: store}, f)
			checkDocuments(t, n, documents(8))
			f.Break(fault)
			vs, _, err := n.Documents(t.Context(), documents(30))
			if err == nil || vs != nil || catalog.KindOf(err) != catalog.Unavailable {
				t.Errorf("%v: %d vectors, %v", fault, len(vs), err)
			}
			f.Break(embedtest.Healthy)
			before := len(f.Texts())
			checkDocuments(t, n, documents(30))
			if got := len(f.Texts()) - before; got != 22+1 {
				t.Errorf("%v: %d texts were embedded after the failure, want 23", fault, got)
			}
		})
	}
}

func TestDocumentsMistrustTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		store := &memory{}
		n := neural(t, embed.NeuralConfig{Store: store}, f)
		checkDocuments(t, n, []string{"a", "b", "c"})
		bad := []embed.Vector{make(embed.Vector, 16), make(embed.Vector, 15), append(embed.Vector{float32(math.NaN())}, make(embed.Vector, 15)...)}
		i := 0
		for h := range store.vectors[f.Model()] {
			store.vectors[f.Model()][h] = bad[i]
			i++
		}
		checkDocuments(t, n, []string{"a", "b", "c"})
		store.err = errors.New("disk full")
		checkDocuments(t, n, []string{"a", "d"})
	})
}

func TestQueriesBehindDocumentsAreNoMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{Auto: true}, f)
		f.Delay(4e9)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, _, err := n.Documents(ctx, documents(200))
			done <- err
		}()
		synctest.Wait()
		for i := range 7 {
			if err := query(t, n, fmt.Sprint(i)); !errors.Is(err, embed.ErrLate) {
				t.Errorf("query %d: %v", i, err)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Documents: %v", err)
		}
		if s := n.Status(); s.State != "ready" {
			t.Errorf("%+v", s)
		}
	})
}
