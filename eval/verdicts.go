package eval

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"toolbelt/catalog"
)

// Verdict is what a reader said of a needed tool. The reader had the request and, in mixed order, the tools that ranked first and the needed ones that did not, without being told
// which were which, and chose those to call.
type Verdict string

// The verdicts.
const (
	Chosen    Verdict = "chosen" // the reader would call it
	Equal     Verdict = "equal"  // another that ranked first does the same as well
	NotChosen Verdict = "other"  // the reader would call others, or none
)

// Verdicts are a reader's, by set, case and place.
type Verdicts map[Needed]Verdict

// Needed is a needed tool, by its place in its case's list, from 1.
type Needed struct {
	Set, Case string
	Place     int
}

// ReadVerdicts reads a line for each needed tool that was read: set, case, place and verdict, with tabs between them. Lines that are empty or begin with # are left out. An error is of kind
// Invalid and names the line.
func ReadVerdicts(r io.Reader) (Verdicts, error) {
	verdicts := Verdicts{}
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		wrong := func(what string) (Verdicts, error) {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("reading verdicts: line %d: %s", n, what), nil)
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 4 {
			return wrong(fmt.Sprintf("it has %d columns: it must have set, case, place and verdict, with tabs between them", len(cells)))
		}
		place, err := strconv.Atoi(cells[2])
		if err != nil || place < 1 {
			return wrong(fmt.Sprintf("the place is %q: it must be a number from 1", cells[2]))
		}
		verdict := Verdict(cells[3])
		if !slices.Contains([]Verdict{Chosen, Equal, NotChosen}, verdict) {
			return wrong(fmt.Sprintf("the verdict is %q: it must be chosen, equal or other", cells[3]))
		}
		key := Needed{cells[0], cells[1], place}
		if _, twice := verdicts[key]; twice {
			return wrong(fmt.Sprintf("there is a verdict on tool %d of case %q already", place, cells[1]))
		}
		verdicts[key] = verdict
	}
	if err := lines.Err(); err != nil {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("reading verdicts: line %d: %v", n+1, err), nil)
	}
	return verdicts, nil
}

// Review is what a reader's verdicts make of the needed tools that are not among the first of the largest k.
type Review struct {
	Chosen    int `json:"chosen"`
	Equal     int `json:"equal"`
	NotChosen int `json:"not_chosen"`
	Unread    int `json:"unread"` // no verdict

	FoundRead   int `json:"found_read"`   // of those among the first k, with a verdict
	FoundChosen int `json:"found_chosen"` // of these, chosen or equal: how far the reader and the labels agree where nothing is missed

	// Most is the recall at the largest k if every missed tool but those not chosen were found; Without is what it is if those are not counted as needed. 0 without cases.
	Most    float64 `json:"most"`
	Without float64 `json:"without"`
}

// review counts one set's.
type review struct {
	Review
	set           string
	verdicts      Verdicts
	most, without []float64 // by case
}

// count adds one case: ranked are all tools.
func (r *review) count(c Case, ranked []string, k int) {
	shown := ranked[:min(k, len(ranked))]
	found, lost, out := 0.0, 0.0, 0.0 // lost: missed, and out: missed and not chosen
	for i, name := range c.Needed {
		verdict, read := r.verdicts[Needed{r.set, c.ID, i + 1}]
		if c.place(name, shown) > 0 {
			found++
			if read {
				r.FoundRead++
				if verdict != NotChosen {
					r.FoundChosen++
				}
			}
			continue
		}
		lost++
		switch {
		case !read:
			r.Unread++
		case verdict == Chosen:
			r.Chosen++
		case verdict == Equal:
			r.Equal++
		default:
			r.NotChosen++
			out++
		}
	}
	r.most = append(r.most, (found+lost-out)/(found+lost))
	if found+lost > out {
		r.without = append(r.without, found/(found+lost-out))
	}
}

func (r *review) finish() *Review {
	r.Most, r.Without = meanOf(r.most), meanOf(r.without)
	return &r.Review
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(1, len(x)))
}

func (r *RecallReport) reviewSection() section {
	s := section{
		title: "What a reader said of the misses", about: "The reader had each request and, in mixed order, the tools that ranked first and the needed ones that did not, and chose what to call. not chosen: others were, or none. found: the same of needed tools among the first k. " +
			"at most: recall if all were found but those not chosen. without: recall if those are not counted as needed.",
		head: []string{"set", "missed", "chosen", "as good as another shown", "not chosen", "unread", "found: chosen", "recall", "at most", "without"},
	}
	for _, row := range r.Rows {
		if d := row.Review; d != nil && d.Chosen+d.Equal+d.NotChosen+d.FoundRead > 0 {
			k := strconv.Itoa(r.Settings.Ks[len(r.Settings.Ks)-1])
			cells := []string{row.Set}
			for _, n := range []int{d.Chosen + d.Equal + d.NotChosen + d.Unread, d.Chosen, d.Equal, d.NotChosen, d.Unread} {
				cells = append(cells, strconv.Itoa(n))
			}
			s.rows = append(s.rows, append(cells, fmt.Sprintf("%d of %d", d.FoundChosen, d.FoundRead), share(row.Recall[k]), share(d.Most), share(d.Without)))
		}
	}
	return s
}
