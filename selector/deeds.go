package selector

import (
	"strings"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
)

// To an embedder "delete the note" and "read the note" are nearly the same. What a tool does is mostly said by the first verb of its name, and what
// a request asks for by its verbs: a tool that does what nobody asks for falls, and one that does what is asked for rises. A request in whose words no verb is known, as
// in another language, moves nothing.
const (
	unaskedWeight = 0.5  // what a tool falls by that makes, changes, removes or sends something unasked, in deviations of the ranks
	askedWeight   = 0.25 // what a tool rises by that does what is asked for, in the same
)

// deed is what is done, a set: what a tool does is one at most, what a request asks for may be several.
type deed uint8

const (
	reads deed = 1 << iota
	makes
	changes
	removes
	sends
)

// verbs are the words that say what is done, and spoken those that do so in a request, but in a tool's name are what it is about ("get_order"). What only computes, as
// "convert", is none of either: nothing is other than before, and people ask for it in other words.
var (
	verbs  = deeds{}
	spoken = deeds{}
)

func init() {
	verbs.are(reads, "analyze browse check compare count describe details display explain fetch find get info inspect list look lookup query read recommend retrieve search see show status summarize tell view")
	verbs.are(makes, "add append build compose create draw export generate insert install make register save schedule write")
	verbs.are(changes, "adjust change configure edit modify move rename replace set update")
	verbs.are(removes, "cancel clear delete drop erase remove revoke unfollow uninstall")
	verbs.are(sends, "forward notify publish reply retweet send share submit tweet upload")
	spoken.are(reads, "any give how know latest what when where which who")
	spoken.are(makes, "book design new order place prepare produce record reserve store")
	spoken.are(sends, "comment email message post")
}

type deeds map[string]deed

func (d deeds) are(what deed, words string) {
	for word := range strings.FieldsSeq(words) {
		d[word] = what
	}
}

// of is what the word says is done, in any of its forms: "create", "creates", "created", "creating".
func (d deeds) of(word string) deed {
	if what, ok := d[word]; ok {
		return what
	}
	for _, ending := range [...]string{"s", "d", "ed", "ing", "es"} {
		if root, ok := strings.CutSuffix(word, ending); ok {
			if what := d[root] | d[root+"e"]; what != 0 {
				return what
			}
		}
	}
	return 0
}

// deedsOf is what each tool of the catalog does, 0 where neither its name nor the first word of its description says so. Linear in the names.
func deedsOf(cat *catalog.Catalog) []deed {
	list := make([]deed, cat.Len())
	for i := range list {
		t := cat.Tool(catalog.ID(i))
		_, name := catalog.SplitServer(t.Name)
		catalog.Words(name, func(w string) {
			if list[i] == 0 {
				list[i] = verbs.of(w)
			}
		})
		if first, _, _ := strings.Cut(strings.TrimSpace(t.Description), " "); list[i] == 0 && len(first) <= maxVerb {
			list[i] = verbs.of(strings.ToLower(first))
		}
	}
	return list
}

const maxVerb = 16 // bytes of a word that can be one of the verbs

// asked is what the words of the texts ask for.
func asked(text string) deed {
	var all deed
	catalog.Words(text, func(w string) { all |= verbs.of(w) | spoken.of(w) })
	return all
}

// asks is what the request asks for: its last message, and what was said before as far as it belongs to it.
func (q Query) asks() deed {
	for i := min(len(q.Texts), 2) - 1; i >= 0; i-- {
		if q.whole(i) {
			return asked(q.Texts[i])
		}
	}
	return 0
}

// weigh is what a tool that does this rises by where that is asked for, in deviations of the ranks. Whoever has something looked up to have it changed asks for the
// change, so what reads rises only where nothing else is asked for, and by half: what answers without a verb in its name is asked for in the same words.
func (asked deed) weigh(what deed) float32 {
	switch {
	case what == 0 || asked == 0:
		return 0
	case what == reads && asked == reads:
		return askedWeight / 2
	case what == reads:
		return 0
	case what&asked != 0:
		return askedWeight
	default:
		return -unaskedWeight
	}
}

// rises is what the ranks of tools that do each deed have grown by.
type rises [sends + 1]float32

// addDeeds ranks tools by whether what they do is asked for. Cost: three passes over the ranks.
func (ix *Index) addDeeds(asks deed, rank []float32) (by rises) {
	if asks == 0 || len(rank) == 0 {
		return by
	}
	deviation := float32(deviationOf(rank, vek32.Mean(rank)))
	for what := range by {
		by[what] = deviation * asks.weigh(deed(what))
	}
	for i, what := range ix.deeds {
		rank[i] += by[what]
	}
	return by
}

// String is the deed as the end of "what it does is to …".
func (d deed) String() string {
	switch d {
	case reads:
		return "read"
	case makes:
		return "make"
	case changes:
		return "change"
	case removes:
		return "remove"
	case sends:
		return "send"
	}
	return ""
}
