package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reference is the tokenizer as its description says, step by step over whole strings, with a map for a vocabulary.
type reference struct{ ids map[string]int }

func newReference() reference {
	r := reference{ids: map[string]int{}}
	for i, token := range strings.Split(strings.TrimSuffix(vocabText, "\n"), "\n") {
		r.ids[token] = i
	}
	return r
}

func (r reference) tokenize(text string) []int {
	var ids []int
	for text != "" {
		at, special := len(text), ""
		for _, s := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
			if i := strings.Index(text, s); i >= 0 && i < at {
				at, special = i, s
			}
		}
		for _, word := range r.words(text[:at]) {
			ids = append(ids, r.pieces(word)...)
		}
		if special != "" {
			ids = append(ids, r.ids[special])
		}
		text = text[at+len(special):]
	}
	return ids
}

func (reference) words(text string) []string {
	var clean strings.Builder
	for _, c := range text {
		switch {
		case c == '\t' || c == '\n' || c == '\r' || unicode.Is(unicode.Z, c):
			clean.WriteByte(' ')
		case c == utf8.RuneError || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co):
		case isCJK(c):
			clean.WriteString(" " + string(c) + " ")
		default:
			clean.WriteRune(c)
		}
	}
	var words strings.Builder
	for _, c := range norm.NFD.String(clean.String()) {
		switch {
		case unicode.Is(unicode.Mn, c):
		case c < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) || unicode.Is(unicode.P, c):
			words.WriteString(" " + string(c) + " ")
		default:
			words.WriteRune(unicode.ToLower(c))
		}
	}
	return strings.FieldsFunc(words.String(), func(c rune) bool { return c == ' ' })
}

func (r reference) pieces(word string) []int {
	chars := []rune(word)
	if len(chars) > 100 {
		return []int{100}
	}
	var ids []int
	for start := 0; start < len(chars); {
		end, id, ok := len(chars), 0, false
		for ; end > start && !ok; end-- {
			piece := string(chars[start:end])
			if start > 0 {
				piece = "##" + piece
			}
			id, ok = r.ids[piece]
		}
		if !ok {
			return []int{100}
		}
		ids, start = append(ids, id), end+1
	}
	return ids
}

func tokenize(text string) []int {
	v, s := sharedVocab(), wordScanner{text: text}
	var word [maxWordChars]uint16
	var ids []int
	for s.next() {
		for _, id := range word[:v.wordIDs(&word, &s)] {
			ids = append(ids, int(id))
		}
	}
	return ids
}

func seeds() []string {
	return []string{
		"", "Hello, World!", "naïve café ÅNGSTRÖM straße", "日本語のテキスト", "한국어 각", "مرحبا", "🙂 👩‍👩‍👧", "x≠y =\u0338 \u037e",
		"[CLS] [MASK] [mask] [[SEP]]", "a\u0301\u0323 e\u0301 \u0301", "\xff\xfe\xc3", "豈 \u2329", strings.Repeat("y", 100) + " " + strings.Repeat("é", 101), "İstanbul ẞ ς", "\x00\x0b\x7f\u0085\ufeff",
	}
}

func FuzzTokenizer(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	r := newReference()
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := tokenize(text), r.tokenize(text); !slices.Equal(got, want) {
			t.Errorf("tokens of %q are %v, the reference says %v", text, got, want)
		}
	})
}

func TestTokenizerAgreesWithGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var g struct {
			Text string `json:"text"`
			IDs  []int  `json:"ids"`
		}
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		if got := tokenize(g.Text); !slices.Equal(got, g.IDs) {
			t.Errorf("tokens of %q are %v, want %v", g.Text, got, g.IDs)
		}
		if got := newReference().tokenize(g.Text); !slices.Equal(got, g.IDs) {
			t.Errorf("the reference's tokens of %q are %v, want %v", g.Text, got, g.IDs)
		}
	}
}

// TestEveryCharacter compares with the reference all characters that there are, within a word.
func TestEveryCharacter(t *testing.T) {
	r := newReference()
	for c := rune(0); c <= unicode.MaxRune; c++ {
		s := wordScanner{text: "x" + string(c) + "y"}
		var got []string
		for s.next() {
			got = append(got, string(s.word()))
		}
		if want := r.words(s.text); !slices.Equal(got, want) {
			t.Errorf("words of %+q are %q, the reference says %q", s.text, got, want)
		}
	}
}

func TestEveryTokenIsFound(t *testing.T) {
	v := sharedVocab()
	for id := 1; id < len(v.offsets)-1; id++ {
		token := vocabText[v.offsets[id] : v.offsets[id+1]-1]
		bare, rest := token, false
		if strings.HasPrefix(token, "##") && token != "##" {
			bare, rest = token[2:], true
		}
		if got, length := v.longestMatch([]byte(bare), rest); int(got) != id || length != len(bare) {
			t.Errorf("token %d, %q, is found as %d", id, token, got)
		}
	}
}

// FuzzLastTokens checks that reading from the end gives the last tokens of the whole.
func FuzzLastTokens(f *testing.F) {
	for i, s := range seeds() {
		f.Add(s, "word. ", uint16(i*300))
	}
	f.Add("[MASK]", "[CLS]", uint16(900))
	f.Fuzz(func(t *testing.T, unit, glue string, times uint16) {
		text := strings.Repeat(unit+glue, min(int(times)%2000, maxReadBytes/(len(unit)+len(glue)+1)))
		all := tokenize(text)
		want := all[max(0, len(all)-windowTokens):]
		var ring tokenRing
		sharedVocab().lastTokens(&ring, text)
		got := make([]int, 0, windowTokens)
		for i := max(0, ring.total-windowTokens); i < ring.total; i++ {
			got = append(got, int(ring.ids[i%windowTokens]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the last tokens of %d × %q are %v, want %v", times, unit+glue, got, want)
		}
	})
}

// TestTailKeepsSpecialTokensWhole has 512 tokens at the end, of which the first is a special one that the first region cuts through.
func TestTailKeepsSpecialTokensWhole(t *testing.T) {
	text := strings.Repeat("word ", 100) + "[MASK]" + strings.Repeat(" reading", 510) + " information"
	if n := len(" information") + 510*len(" reading"); n != firstTailBytes-4 {
		t.Fatalf("%d bytes follow the special token, this test wants the region to begin 4 bytes earlier", n)
	}
	all := tokenize(text)
	var ring tokenRing
	sharedVocab().lastTokens(&ring, text)
	if first := int(ring.ids[ring.total%windowTokens]); first != all[len(all)-windowTokens] || first != idMask {
		t.Errorf("the first of the last 512 tokens is %d, want %d", first, idMask)
	}
}

func TestCutThroughALongWord(t *testing.T) {
	word := strings.Repeat("é", 4000)
	for _, kind := range []Kind{Query, Document} {
		if got := sharedVocab().cut(kind, "a "+word+" b", 101); len(got) < 395 || len(got) > 405 || !utf8.ValidString(got) {
			t.Errorf("kind %d: %d bytes are left of an unknown word, want about 4 a token", kind, len(got))
		}
	}
}

func FuzzCut(f *testing.F) {
	for i, s := range seeds() {
		f.Add(s+strings.Repeat(" more words", 20*i), uint16(i))
	}
	f.Fuzz(func(t *testing.T, text string, tokens uint16) {
		v, limit := sharedVocab(), int(tokens)%600+1
		start, end := v.cut(Document, text, limit), v.cut(Query, text, limit)
		if !strings.HasPrefix(text, start) || !strings.HasSuffix(text, end) {
			t.Fatalf("%q was cut to %q and %q", text, start, end)
		}
		whole := v.estimateTokens(text)
		for _, part := range []string{start, end} {
			n := v.estimateTokens(part)
			if n > limit+maxWordChars {
				t.Errorf("%q has %d tokens after a cut to %d", part, n, limit)
			}
			if whole <= limit && n != whole {
				t.Errorf("%q fits %d tokens and was cut to %q", text, limit, part)
			}
		}
	})
}

func TestTableDigest(t *testing.T) {
	sum := sha256.Sum256([]byte(tableText))
	if got := hex.EncodeToString(sum[:]); got != tableDigest {
		t.Errorf("the table's SHA-256 is %s: set tableDigest, or vectors stored with the old table are taken for the new one's", got)
	}
}

func TestParseTableRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "short": tableText[:10], "cut off": tableText[:len(tableText)-1], "another magic": "XXXX" + tableText[4:], "another version": "TBST\x02" + tableText[5:],
	} {
		if _, err := parseTable(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add(uint64(1), uint16(40))
	table, err := parseTable(tableText)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint16) {
		r := rand.New(rand.NewPCG(seed, 0))
		ids := make([]uint16, n%windowTokens)
		for i := range ids {
			ids[i] = uint16(r.IntN(table.rows))
		}
		var got, want [tableDim]float32
		table.sum(&got, ids)
		table.sumReference(&want, ids)
		for i := range got {
			if !(math.Abs(float64(got[i]-want[i])) <= 1e-5) {
				t.Fatalf("%d rows: number %d is %v, the reference says %v", len(ids), i, got[i], want[i])
			}
		}
	})
}

func BenchmarkNewVocab(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newVocab(vocabText)
	}
}
