// Package storetest tests implementations of embed.Store, and has one in memory for other packages' tests.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Memory is an embed.Store that ends with the process. Safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	vectors map[memoryKey]embed.Vector
}

type memoryKey struct {
	model embed.Model // without its Dim
	doc   catalog.Hash
}

var _ embed.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{vectors: make(map[memoryKey]embed.Vector)} }

func key(m embed.Model, doc catalog.Hash) memoryKey {
	m.Dim = 0
	return memoryKey{m, doc}
}

// Vectors implements embed.Store.
func (s *Memory) Vectors(ctx context.Context, m embed.Model, docs []catalog.Hash) (map[catalog.Hash]embed.Vector, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[catalog.Hash]embed.Vector)
	for _, doc := range docs {
		if v, ok := s.vectors[key(m, doc)]; ok && len(v) == m.Dim {
			found[doc] = slices.Clone(v)
		}
	}
	return found, nil
}

// PutVectors implements embed.Store.
func (s *Memory) PutVectors(ctx context.Context, m embed.Model, docs []catalog.Hash, vectors []embed.Vector) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(docs) != len(vectors) {
		return catalog.NewError(catalog.Invalid, "as many vectors as documents are needed", nil)
	}
	for _, v := range vectors {
		if v != nil && (len(v) != m.Dim || embed.Normalize(slices.Clone(v)) != nil) {
			return catalog.NewError(catalog.Invalid, "a vector is of another length than its model's, or has no direction", nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range vectors {
		if v != nil {
			s.vectors[key(m, docs[i])] = slices.Clone(v)
		}
	}
	return nil
}

// Vector is a unit vector that is always the same for the same seed.
func Vector(seed uint64, dim int) embed.Vector {
	v := make(embed.Vector, dim)
	for i := range v {
		seed = seed*6364136223846793005 + 1442695040888963407
		v[i] = float32(int32(seed>>32)) / math.MaxInt32
	}
	if err := embed.Normalize(v); err != nil {
		panic(err) // dim is 0
	}
	return v
}

// Doc is the hash of the n-th document.
func Doc(n int) catalog.Hash { return sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

// TestStore checks that the stores that open returns, each of them empty, keep the contract of embed.Store.
func TestStore(t *testing.T, open func(t *testing.T) embed.Store) {
	for name, test := range map[string]func(*testing.T, embed.Store){
		"round trip":        testRoundTrip,
		"models apart":      testModelsApart,
		"other dimension":   testOtherDimension,
		"thousands":         testThousands,
		"replace":           testReplace,
		"refuse all or not": testRefuse,
		"nothing":           testNothing,
		"concurrent":        testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func model() embed.Model { return embed.Model{Name: "m", Digest: "d", Prefix: 1, Dim: 3} }

func put(t *testing.T, s embed.Store, m embed.Model, docs []catalog.Hash, vectors ...embed.Vector) {
	t.Helper()
	if err := s.PutVectors(t.Context(), m, docs, vectors); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s embed.Store, m embed.Model, docs ...catalog.Hash) map[catalog.Hash]embed.Vector {
	t.Helper()
	found, err := s.Vectors(t.Context(), m, docs)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func testRoundTrip(t *testing.T, s embed.Store) {
	a, b := Vector(1, 3), embed.Vector{-0, math.SmallestNonzeroFloat32, -1}
	put(t, s, model(), []catalog.Hash{Doc(1), Doc(2), Doc(3)}, a, b, nil)
	found := get(t, s, model(), Doc(3), Doc(2), Doc(1), Doc(4), Doc(1))
	if len(found) != 2 || !slices.Equal(found[Doc(1)], a) || !slices.Equal(found[Doc(2)], b) {
		t.Errorf("stored %v and %v, found %v", a, b, found)
	}
}

func testModelsApart(t *testing.T, s embed.Store) {
	put(t, s, model(), []catalog.Hash{Doc(1)}, Vector(1, 3))
	for _, other := range []embed.Model{{Name: "M", Digest: "d", Prefix: 1, Dim: 3}, {Name: "m", Digest: "", Prefix: 1, Dim: 3}, {Name: "m", Digest: "d", Prefix: 2, Dim: 3}} {
		if found := get(t, s, other, Doc(1)); len(found) != 0 {
			t.Errorf("%+v sees the vectors of %+v", other, model())
		}
		put(t, s, other, []catalog.Hash{Doc(1)}, Vector(9, 3))
	}
	if found := get(t, s, model(), Doc(1)); !slices.Equal(found[Doc(1)], Vector(1, 3)) {
		t.Errorf("another model's vector replaced it: %v", found)
	}
}

func testOtherDimension(t *testing.T, s embed.Store) {
	longer := model()
	longer.Dim = 5
	put(t, s, model(), []catalog.Hash{Doc(1)}, Vector(1, 3))
	if found := get(t, s, longer, Doc(1)); len(found) != 0 {
		t.Errorf("a vector of 3 numbers was found for a model of 5: %v", found)
	}
	put(t, s, longer, []catalog.Hash{Doc(1)}, Vector(2, 5))
	if found := get(t, s, longer, Doc(1)); !slices.Equal(found[Doc(1)], Vector(2, 5)) {
		t.Errorf("found %v", found)
	}
}

func testThousands(t *testing.T, s embed.Store) {
	const n = 5003
	docs, vectors := make([]catalog.Hash, n), make([]embed.Vector, n)
	for i := range docs {
		docs[i], vectors[i] = Doc(i), Vector(uint64(i), 3)
	}
	put(t, s, model(), docs[:n-1], vectors[:n-1]...)
	found := get(t, s, model(), docs...)
	if len(found) != n-1 {
		t.Fatalf("found %d of %d", len(found), n-1)
	}
	for i := range docs[:n-1] {
		if !slices.Equal(found[docs[i]], vectors[i]) {
			t.Fatalf("document %d has %v, want %v", i, found[docs[i]], vectors[i])
		}
	}
}

func testReplace(t *testing.T, s embed.Store) {
	put(t, s, model(), []catalog.Hash{Doc(1), Doc(1)}, Vector(1, 3), Vector(2, 3))
	put(t, s, model(), []catalog.Hash{Doc(1)}, Vector(3, 3))
	if found := get(t, s, model(), Doc(1)); !slices.Equal(found[Doc(1)], Vector(3, 3)) {
		t.Errorf("found %v, want the last one", found)
	}
}

func testRefuse(t *testing.T, s embed.Store) {
	nan := float32(math.NaN())
	docs := []catalog.Hash{Doc(1), Doc(2)}
	for name, vectors := range map[string][]embed.Vector{
		"too few": {Vector(1, 3)}, "another length": {Vector(1, 3), Vector(1, 4)}, "empty": {Vector(1, 3), {}},
		"NaN": {Vector(1, 3), {nan, 1, 0}}, "zero": {Vector(1, 3), {0, 0, 0}}, "infinite": {Vector(1, 3), {float32(math.Inf(1)), 0, 0}},
	} {
		err := s.PutVectors(t.Context(), model(), docs, vectors)
		if err == nil || catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%s: error %v, want one of kind Invalid", name, err)
		}
	}
	if found := get(t, s, model(), docs...); len(found) != 0 {
		t.Errorf("of refused vectors these were stored: %v", found)
	}
}

func testNothing(t *testing.T, s embed.Store) {
	put(t, s, model(), nil)
	if found := get(t, s, model()); len(found) != 0 {
		t.Errorf("asked for nothing, found %v", found)
	}
	if found := get(t, s, embed.Model{}, Doc(1)); len(found) != 0 {
		t.Errorf("the zero model has %v", found)
	}
}

func testConcurrent(t *testing.T, s embed.Store) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				doc := Doc(w*100 + i)
				if err := s.PutVectors(t.Context(), model(), []catalog.Hash{doc}, []embed.Vector{Vector(uint64(i), 3)}); err != nil {
					t.Error(err)
				}
				if found, err := s.Vectors(t.Context(), model(), []catalog.Hash{doc}); err != nil || len(found) != 1 {
					t.Errorf("found %v, error %v", found, err)
				}
			}
		})
	}
	wg.Wait()
}
