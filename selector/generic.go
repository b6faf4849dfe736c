package selector

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// genericSubjects is how many subjects of a catalog are asked about.
const genericSubjects = 10

// Generic is a list of requests that are about what the catalog's tools are about and yet for none of them: "help me with calendar". The
// subjects are the catalog's own: the servers that tools are grouped by in their names, and the last words of the names ("create_event":
// event), those of the most tools first. A catalog whose names have no words gives none. The same catalog gives the same list, of 30
// requests at most. Linear in the names.
func Generic(cat *catalog.Catalog) []string {
	tools := map[string]int{} // by subject
	for i := range cat.Len() {
		name := cat.Tool(catalog.ID(i)).Name
		server, rest, ok := strings.Cut(name, "__")
		if !ok {
			server, rest = "", name
		}
		for _, s := range []string{spelledOut(server), subjectOf(rest)} {
			if s != "" {
				tools[s]++
			}
		}
	}
	subjects := slices.SortedFunc(maps.Keys(tools), func(a, b string) int {
		if c := cmp.Compare(tools[b], tools[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var list []string
	for _, s := range subjects[:min(genericSubjects, len(subjects))] {
		list = append(list, "help me with "+s, "what can you do with "+s+"?", "show me everything about "+s)
	}
	return list
}

// spelledOut is the words of a name.
func spelledOut(name string) string {
	var words []string
	catalog.Words(name, func(w string) { words = append(words, w) })
	return strings.Join(words, " ")
}

// actionWord reports whether the word, of a tool's name, says what is done or that something is there rather than what it is about.
func actionWord(word string) bool {
	switch stem(word) {
	case "add", "call", "check", "create", "delete", "execute", "fetch", "find", "list", "open", "query", "read", "remove", "run", "search", "send", "set", "show", "start", "stop", "update", "write",
		"api", "data", "detail", "details", "info", "information", "result", "statu", "status", "tool", "value":
		return true
	}
	return false
}

// subjectOf is the last word of a tool's name that can be what it is about, "" where there is none.
func subjectOf(name string) string {
	last := ""
	catalog.Words(name, func(w string) {
		if !stopWord(w) && !actionWord(w) && utf8.RuneCountInString(w) > 1 && strings.ContainsFunc(w, unicode.IsLetter) {
			last = stem(w)
		}
	})
	return last
}

// MeasureGeneric adds to c what requests about the catalog's own subjects come to. vectors are those of Generic, by each of the models that c
// was measured by; nil vectors are passed over. A model without a view is an error of kind NotFound; vectors of another length
// than its view's, or another number of them than the other models', one of kind Invalid. Cost: requests × tools dot products a view.
func (ix *Index) MeasureGeneric(c *Calibration, vectors map[embed.Model][]embed.Vector) error {
	var sum []float32 // request by request, a match a tool
	n := ix.catalog.Len()
	for m, list := range vectors {
		i := slices.IndexFunc(ix.views, func(v *View) bool { return v.model == m })
		if i < 0 {
			return catalog.NewError(catalog.NotFound, fmt.Sprintf("no view by %q to measure", m.Name), nil)
		}
		if sum == nil {
			sum = make([]float32, n*len(list))
		}
		if len(sum) != n*len(list) {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("measuring generic requests: %d vectors by %q, others gave another number", len(list), m.Name), nil)
		}
		cosines := make([]float32, n)
		for j, q := range list {
			if q == nil {
				continue
			}
			if len(q) != m.Dim {
				return catalog.NewError(catalog.Invalid, fmt.Sprintf("a vector of a generic request by %q has %d numbers, not %d", m.Name, len(q), m.Dim), nil)
			}
			ix.views[i].cosines(q, cosines)
			ix.views[i].addMatch(sum[j*n:(j+1)*n], cosines)
		}
	}
	if len(sum) == 0 {
		return nil
	}
	vek32.MulNumber_Inplace(sum, 1/float32(len(vectors)))
	c.Generic = len(sum) / n
	best := make([]float32, c.Generic)
	for j := range best {
		best[j] = vek32.Max(sum[j*n : (j+1)*n])
	}
	slices.Sort(best)
	c.Ceiling = math.Max(0, math.Floor(100*float64(best[len(best)/10]))/100)
	c.GenericAdmitted = nil
	for _, threshold := range thresholds() {
		over := 0
		for _, match := range sum {
			if float64(match) >= threshold {
				over++
			}
		}
		c.GenericAdmitted = append(c.GenericAdmitted, Admission{threshold, float64(over) / float64(c.Generic)})
	}
	return nil
}
