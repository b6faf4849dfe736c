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

// A word of a tool's name says more of what it does than one of its description, and one of a parameter's name less.
const (
	nameWeight        = 2
	descriptionWeight = 1
	parameterWeight   = 0.5
)

// lexical is a BM25F index (BM25 over weighted fields) of name, description and parameter names of each tool.
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
	lengths := make([]float64, cat.Len())
	total := 0.0
	for i := range lengths {
		id := catalog.ID(i)
		t := cat.Tool(id)
		field := func(text string, weight float32) {
			catalog.Words(text, func(word string) {
				lx.count(stem(word), id, weight)
				lengths[i] += float64(weight)
			})
		}
		field(t.Name, nameWeight)
		field(t.Description, descriptionWeight)
		for _, p := range t.ParameterNames() {
			field(p, parameterWeight)
		}
		total += lengths[i]
	}
	lx.weigh(lengths, total/math.Max(1, float64(cat.Len())))
	return lx
}

// count adds to the tool's frequency of the term. Tools come one after the other, so a term's newest posting is the tool's or there is none yet.
func (lx *lexical) count(word string, id catalog.ID, weight float32) {
	term, ok := lx.terms[word]
	if !ok {
		term = int32(len(lx.postings))
		lx.terms[word] = term
		lx.postings = append(lx.postings, nil)
	}
	list := lx.postings[term]
	if n := len(list); n > 0 && list[n-1].tool == id {
		list[n-1].weight += weight
		return
	}
	lx.postings[term] = append(list, posting{id, weight})
}

// weigh turns the postings' frequencies into BM25 weights: idf · tf·(k1+1) / (tf + k1·(1-b+b·length/average)).
func (lx *lexical) weigh(lengths []float64, average float64) {
	lx.idf = make([]float32, len(lx.postings))
	lx.unseen = inverseFrequency(lx.tools, 0)
	for term, list := range lx.postings {
		lx.idf[term] = inverseFrequency(lx.tools, len(list))
		for i, p := range list {
			tf, norm := float64(p.weight), bm25K1*(1-bm25B+bm25B*lengths[p.tool]/math.Max(1, average))
			list[i].weight = float32(float64(lx.idf[term]) * tf * (bm25K1 + 1) / (tf + norm))
		}
	}
}

// inverseFrequency is ln(1 + (n-df+½)/(df+½)), which is positive for every df.
func inverseFrequency(n, df int) float32 {
	return float32(math.Log1p((float64(n-df) + 0.5) / (float64(df) + 0.5)))
}

// score adds the BM25 score of the text to out (one number a tool), and to coverage, which is all zero before, the share of the text's word weight
// that each tool has, in [0, 1]. It returns the share that all tools together have. Each distinct word counts once. Words of no content
// weigh nothing, and are looked for only where the text has no others.
func (lx *lexical) score(text string, out, coverage []float32) (known float32) {
	seen := map[string]bool{}
	var whole, found float32
	var empty []int32
	catalog.Words(text, func(word string) {
		bare := word
		if word = stem(word); seen[word] {
			return
		}
		seen[word] = true
		term, has := lx.terms[word]
		switch {
		case stopWord(bare) || stopWord(word):
			if has {
				empty = append(empty, term)
			}
		case !has:
			whole += lx.unseen
		default:
			idf := lx.idf[term]
			whole += idf
			found += idf
			for _, p := range lx.postings[term] {
				out[p.tool] += p.weight
				coverage[p.tool] += idf
			}
		}
	})
	if whole == 0 {
		for _, term := range empty {
			for _, p := range lx.postings[term] {
				out[p.tool] += p.weight
			}
		}
		return 0
	}
	for i := range coverage {
		coverage[i] /= whole
	}
	return found / whole
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
