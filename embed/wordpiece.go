package embed

import (
	_ "embed" // for the vocabulary
	"strings"
	"sync"
)

// vocabText is the token of each row of the table, one a line.
//
//go:embed static/vocab.txt
var vocabText string

// Ids of the vocabulary that the tokenizer names itself.
const (
	idPad  = 0
	idUnk  = 100
	idCls  = 101
	idSep  = 102
	idMask = 103
)

const (
	maxTokenBytes = 32  // no token of the vocabulary is longer
	maxWordChars  = 100 // a longer word is unknown
	slotBits      = 16
)

// vocab finds the id of a token without building strings: an open hash table of ids over the
// embedded text, about 250 KB instead of the 3 MB of a map.
type vocab struct {
	offsets []uint32 // token id is vocabText[offsets[id] : offsets[id+1]-1]
	slots   []uint16 // id, 0 where free: no word is ever "[PAD]"
	longest int      // bytes of the longest token, "##" left out
}

// sharedVocab is the one vocabulary of the process, made from the embedded text on first use (about 1 ms) and never changed.
var sharedVocab = sync.OnceValue(func() *vocab { return newVocab(vocabText) })

// newVocab indexes a text of at most 65,535 distinct tokens, one a line, each line ended.
func newVocab(text string) *vocab {
	v := &vocab{
		offsets: make([]uint32, 0, strings.Count(text, "\n")+1),
		slots:   make([]uint16, 1<<slotBits),
	}
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n')
		v.insert(len(v.offsets), text[at:end])
		v.offsets = append(v.offsets, uint32(at))
		at = end + 1
	}
	v.offsets = append(v.offsets, uint32(len(text)))
	return v
}

func (v *vocab) insert(id int, token string) {
	if id == idPad {
		return
	}
	h, bare := hashWord, token
	if rest, ok := strings.CutPrefix(token, "##"); ok && rest != "" {
		h, bare = hashRest, rest
	}
	v.longest = max(v.longest, len(bare))
	for i := 0; i < len(bare); i++ {
		h = hashByte(h, bare[i])
	}
	slot := slotOf(h)
	for v.slots[slot] != 0 {
		slot = (slot + 1) & (1<<slotBits - 1)
	}
	v.slots[slot] = uint16(id)
}

// The hash is FNV-1a; a piece that continues a word starts from another basis than one that begins it.
const (
	hashWord uint32 = 2166136261
	hashRest uint32 = 0x9d2c5681
)

func hashByte(h uint32, b byte) uint32 { return (h ^ uint32(b)) * 16777619 }

func slotOf(h uint32) uint32 { return (h ^ h>>slotBits) & (1<<slotBits - 1) }

// lookup returns the id of the token whose bytes are piece (behind "##" where rest) and whose hash is h, or 0.
func (v *vocab) lookup(h uint32, piece []byte, rest bool) uint16 {
	for slot := slotOf(h); ; slot = (slot + 1) & (1<<slotBits - 1) {
		id := v.slots[slot]
		if id == 0 {
			return 0
		}
		token := vocabText[v.offsets[id] : v.offsets[id+1]-1]
		if rest {
			if len(token) != len(piece)+2 || token[0] != '#' || token[1] != '#' {
				continue
			}
			token = token[2:]
		}
		if token == string(piece) { // does not allocate
			return id
		}
	}
}

// wordIDs writes the ids of the scanner's word to dst and returns their number, at least 1.
func (v *vocab) wordIDs(dst *[maxWordChars]uint16, s *wordScanner) int {
	switch {
	case s.special != 0:
		dst[0] = s.special - 1
	case s.unknown():
		dst[0] = idUnk
	default:
		return v.pieces(dst, s.word())
	}
	return 1
}

// pieces splits one word of at most maxWordChars characters by greedy longest match, writes the ids to dst and
// returns their number. A word without a match at some place is one unknown token.
func (v *vocab) pieces(dst *[maxWordChars]uint16, word []byte) int {
	n := 0
	for start := 0; start < len(word); {
		id, length := v.longestMatch(word[start:], start > 0)
		if id == 0 {
			dst[0] = idUnk
			return 1
		}
		dst[n] = id
		n++
		start += length
	}
	return n
}

func (v *vocab) longestMatch(tail []byte, rest bool) (id uint16, length int) {
	var hashes [maxTokenBytes]uint32
	h := hashWord
	if rest {
		h = hashRest
	}
	limit := min(len(tail), v.longest, maxTokenBytes)
	for i := range limit {
		h = hashByte(h, tail[i])
		hashes[i] = h
	}
	for length = limit; length > 0; length-- {
		if id := v.lookup(hashes[length-1], tail[:length], rest); id != 0 {
			return id, length
		}
	}
	return 0, 0
}
