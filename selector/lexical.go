package selector

import (
	"math"
	"strings"

	"toolbelt/catalog"
)

// BM25's constants, at the values that its authors recommend (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009).
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// lexical is a BM25 index over name, description and parameter names of each tool.
type lexical struct {
	terms    map[string]int32
	postings [][]posting // by term
	idf      []float32   // by term
	unseen   float32     // the idf of a word that no tool has
	tools    int
}

// posting is one tool that has a term, with the term's BM25 weight there, idf included.
type posting struct {
	tool   catalog.ID
	weight float32
}

func newLexical(cat *catalog.Catalog) *lexical {
	lx := &lexical{terms: map[string]int32{}, tools: cat.Len()}
	counts := make([]map[int32]int, cat.Len())
	lengths := make([]int, cat.Len())
	total := 0
	for i := range counts {
		counts[i] = map[int32]int{}
		t := cat.Tool(catalog.ID(i))
		add := func(word string) {
			counts[i][lx.term(stem(word))]++
			lengths[i]++
		}
		catalog.Words(t.Name, add)
		catalog.Words(t.Description, add)
		for _, p := range t.ParameterNames() {
			catalog.Words(p, add)
		}
		total += lengths[i]
	}
	lx.weigh(counts, lengths, float64(total)/math.Max(1, float64(cat.Len())))
	return lx
}

func (lx *lexical) term(word string) int32 {
	id, ok := lx.terms[word]
	if !ok {
		id = int32(len(lx.postings))
		lx.terms[word] = id
		lx.postings = append(lx.postings, nil)
	}
	return id
}

// weigh fills the postings with BM25 weights: idf · tf·(k1+1) / (tf + k1·(1-b+b·length/average)).
func (lx *lexical) weigh(counts []map[int32]int, lengths []int, average float64) {
	frequency := make([]int, len(lx.postings))
	for _, c := range counts {
		for term := range c {
			frequency[term]++
		}
	}
	lx.idf = make([]float32, len(frequency))
	for term, df := range frequency {
		lx.idf[term] = inverseFrequency(lx.tools, df)
		lx.postings[term] = make([]posting, 0, df)
	}
	lx.unseen = inverseFrequency(lx.tools, 0)
	for i, c := range counts {
		norm := bm25K1 * (1 - bm25B + bm25B*float64(lengths[i])/math.Max(1, average))
		for term, tf := range c {
			w := float64(lx.idf[term]) * float64(tf) * (bm25K1 + 1) / (float64(tf) + norm)
			lx.postings[term] = append(lx.postings[term], posting{catalog.ID(i), float32(w)})
		}
	}
}

// inverseFrequency is ln(1 + (n-df+½)/(df+½)), which is positive for every df.
func inverseFrequency(n, df int) float32 {
	return float32(math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5)))
}

// score adds the BM25 score of the text to out (one number a tool) and the share of the text's word weight
// that each tool has to coverage, in [0, 1]. Each distinct word counts once; words of no content weigh nothing in coverage.
func (lx *lexical) score(text string, out, coverage []float32) {
	seen := map[string]bool{}
	var whole float32
	catalog.Words(text, func(word string) {
		if word = stem(word); seen[word] {
			return
		}
		seen[word] = true
		term, known := lx.terms[word]
		empty := stopWord(word)
		if !known {
			if !empty {
				whole += lx.unseen
			}
			return
		}
		idf := lx.idf[term]
		if !empty {
			whole += idf
		}
		for _, p := range lx.postings[term] {
			out[p.tool] += p.weight
			if !empty {
				coverage[p.tool] += idf
			}
		}
	})
	if whole > 0 {
		for i := range coverage {
			coverage[i] /= whole
		}
	}
}

// stem folds English plurals: "files" and "file", "queries" and "query" are one word. Harman's S stemmer (1991).
func stem(word string) string {
	switch {
	case len(word) < 4 || word[len(word)-1] != 's':
		return word
	case strings.HasSuffix(word, "ies") && !strings.HasSuffix(word, "eies") && !strings.HasSuffix(word, "aies"):
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "us") || strings.HasSuffix(word, "ss"):
		return word
	default:
		return word[:len(word)-1]
	}
}
