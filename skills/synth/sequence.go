package synth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// sequence is the common ordered core of the successful runs' calls: of the run that has most in common with the others, those calls that more
// than half of the others have in the same order.
func (c *cluster) sequence() []string {
	lists := c.lists()
	if len(lists) == 0 {
		return nil
	}
	best, bestCommon := 0, -1
	for i := range lists {
		common := 0
		for j := range lists {
			if i != j {
				common += len(align(lists[i], lists[j]))
			}
		}
		if common > bestCommon {
			best, bestCommon = i, common
		}
	}
	kept := make([]int, len(lists[best]))
	for j := range lists {
		if j == best {
			continue
		}
		for _, at := range align(lists[best], lists[j]) {
			kept[at]++
		}
	}
	var core []string
	for at, n := range kept {
		if 2*n > len(lists)-1 || len(lists) == 1 {
			core = append(core, lists[best][at])
		}
	}
	return core
}

// maxCompared is how many runs of a group are compared call by call, the newest: a job that is done otherwise by now is seen as that.
const maxCompared = 16

// lists are the calls of the runs that succeeded.
func (c *cluster) lists() [][]string {
	var lists [][]string
	for _, it := range slices.Backward(c.items) {
		if it.run.Outcome == runs.Succeeded && len(lists) < maxCompared {
			lists = append(lists, it.run.Names())
		}
	}
	return lists
}

// align returns the places in a of a longest common subsequence of a and b.
func align(a, b []string) []int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var places []int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			places = append(places, i)
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			i++
		default:
			j++
		}
	}
	return places
}

// use is how a group's successful runs used one tool.
type use struct {
	name  string
	runs  int
	first int // sum of places of its first call
}

// required are the tools that more than half of the successful runs used, those used by most first, then as they were first called.
func (c *cluster) required(limit int) []string {
	lists, list := c.uses()
	list = slices.DeleteFunc(list, func(u *use) bool { return 2*u.runs <= len(lists) })
	return namesOf(list[:min(limit, len(list))])
}

// also are the other tools that any of them used, in the same order.
func (c *cluster) also(required []string) []string {
	_, list := c.uses()
	list = slices.DeleteFunc(list, func(u *use) bool { return slices.Contains(required, u.name) })
	return namesOf(list[:min(skills.MaxAlsoUsed, len(list))])
}

func namesOf(list []*use) []string {
	var names []string
	for _, u := range list {
		names = append(names, u.name)
	}
	return names
}

// uses are the calls of the runs that succeeded, and what tools they used, those used by most first, then as they were first called.
func (c *cluster) uses() ([][]string, []*use) {
	lists := c.lists()
	uses := map[string]*use{}
	for _, list := range lists {
		seen := map[string]bool{}
		for at, name := range list {
			if seen[name] {
				continue
			}
			seen[name] = true
			if uses[name] == nil {
				uses[name] = &use{name: name}
			}
			uses[name].runs++
			uses[name].first += at
		}
	}
	var list []*use
	for _, u := range uses {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *use) int {
		return cmp.Or(cmp.Compare(b.runs, a.runs), cmp.Compare(a.first*b.runs, b.first*a.runs), cmp.Compare(a.name, b.name))
	})
	return lists, list
}

// body writes the sequence as steps, with the names of the arguments that most calls had.
func (c *cluster) body(sequence []string) string {
	arguments := map[string]map[string]int{}
	calls := map[string]int{}
	for _, it := range c.items {
		if it.run.Outcome != runs.Succeeded {
			continue
		}
		for _, call := range it.run.Calls {
			calls[call.Name]++
			if arguments[call.Name] == nil {
				arguments[call.Name] = map[string]int{}
			}
			for _, a := range call.Arguments {
				arguments[call.Name][a]++
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Steps that did the job in %d of %d runs:\n\n", c.succeeded(), len(c.items))
	for i, name := range sequence {
		fmt.Fprintf(&b, "%d. `%s`", i+1, name)
		var usual []string
		for a, n := range arguments[name] {
			if 2*n > calls[name] {
				usual = append(usual, a)
			}
		}
		if slices.Sort(usual); len(usual) > 0 {
			fmt.Fprintf(&b, " with %s", strings.Join(usual, ", "))
		}
		b.WriteByte('\n')
	}
	if b.Len() > skills.MaxBodyBytes {
		return b.String()[:strings.LastIndexByte(b.String()[:skills.MaxBodyBytes], '\n')+1]
	}
	return b.String()
}
