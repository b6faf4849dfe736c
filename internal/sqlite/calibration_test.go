package sqlite_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// measured is what was measured of the n-th catalog.
func measured(n int) embed.Measured {
	return embed.Measured{
		Model: embed.Model{Name: "m", Digest: "d", Prefix: 1, Dim: 4}, Catalog: catalog.New([]catalog.Tool{{Name: fmt.Sprint(n)}}).Hash(),
		Tools: 7, Requests: 64, Mean: -0.25, Deviation: 0.5, Floor: 2.25, Generic: 30, Ceiling: 5.5, At: time.Unix(int64(1000+n), 5).UTC(),
	}
}

func TestCalibrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	want := measured(1)
	if _, ok, err := db.Calibration(t.Context(), want.Model, want.Catalog); ok || err != nil {
		t.Errorf("an empty database knows it: %v, %v", ok, err)
	}
	for _, floor := range []float64{3, want.Floor} { // the second takes the first one's place
		c := want
		c.Floor = floor
		if err := db.SaveCalibration(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	db = mustOpen(t, path)
	if got, ok, err := db.Calibration(t.Context(), want.Model, want.Catalog); !ok || err != nil || got != want {
		t.Errorf("got %+v, %v, %v, want %+v", got, ok, err, want)
	}
	for name, m := range map[string]embed.Model{
		"name": {Name: "x", Digest: "d", Prefix: 1, Dim: 4}, "digest": {Name: "m", Digest: "x", Prefix: 1, Dim: 4},
		"prefix": {Name: "m", Digest: "d", Prefix: 2, Dim: 4}, "length": {Name: "m", Digest: "d", Prefix: 1, Dim: 5},
	} {
		if _, ok, err := db.Calibration(t.Context(), m, want.Catalog); ok || err != nil {
			t.Errorf("a model of another %s: %v, %v", name, ok, err)
		}
	}
	if _, ok, err := db.Calibration(t.Context(), want.Model, catalog.Hash{}); ok || err != nil {
		t.Errorf("another catalog: %v, %v", ok, err)
	}
}

func TestCalibrationsAreBounded(t *testing.T) {
	db := mustOpen(t, ":memory:")
	for n := range 1003 {
		if err := db.SaveCalibration(t.Context(), measured(n)); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int]bool{0: false, 2: false, 3: true, 1002: true} {
		m := measured(n)
		if _, ok, err := db.Calibration(t.Context(), m.Model, m.Catalog); ok != want || err != nil {
			t.Errorf("the %d-th is there: %v, %v", n, ok, err)
		}
	}
}

func TestCalibrationsRefuseWhatIsNoFigure(t *testing.T) {
	db := mustOpen(t, ":memory:")
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		c := measured(1)
		c.Floor = x
		if err := db.SaveCalibration(t.Context(), c); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%v: %v", x, err)
		}
	}
	if _, ok, _ := db.Calibration(t.Context(), measured(1).Model, measured(1).Catalog); ok {
		t.Error("it was stored all the same")
	}
}
