package telemetry

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Which tools should be in CORE.
const (
	coreSessions = 3    // of an app, before its shares tell anything
	coreShare    = 0.30 // of an app's sessions use the tool
	coreMisses   = 3    // or so many turns missed it
	coreMissedIn = 2    // in so many sessions
	coreMost     = 7    // half of what is visible by default: the rest is for what a request asks for
)

// usage is how one tool was used.
type usage struct {
	sessions map[string]map[string]bool // by app
	missed   map[string]bool            // sessions
	misses   int
}

// core returns the tools that are used in a good part of some app's sessions, or were missed often; most used first.
func core(turns []Turn) []CoreTool {
	byTool, all := map[string]*usage{}, map[string]map[string]bool{}
	for _, t := range turns {
		add(all, t.App, t.Session)
		for _, name := range t.Use.Names {
			u := byTool[name]
			if u == nil {
				u = &usage{sessions: map[string]map[string]bool{}, missed: map[string]bool{}}
				byTool[name] = u
			}
			add(u.sessions, t.App, t.Session)
			if slices.Contains(t.Use.Missed, name) {
				u.misses++
				u.missed[t.Session] = true
			}
		}
	}
	list := []CoreTool{}
	for name, u := range byTool {
		c := CoreTool{Tool: name, Misses: u.misses}
		for app, used := range u.sessions {
			share := float64(len(used)) / float64(len(all[app]))
			if len(all[app]) >= coreSessions && (share > c.Share || share == c.Share && len(used) > c.Sessions) {
				c.Share, c.Sessions = share, len(used)
			}
		}
		if c.Share >= coreShare || u.misses >= coreMisses && len(u.missed) >= coreMissedIn {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b CoreTool) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Misses, a.Misses), cmp.Compare(a.Tool, b.Tool))
	})
	return list[:min(coreMost, len(list))]
}

func add(sets map[string]map[string]bool, set, member string) {
	if sets[set] == nil {
		sets[set] = map[string]bool{}
	}
	sets[set][member] = true
}

// plain is what YAML reads as a string without quotes, a few words aside.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// CoreYAML is the setting that makes these tools CORE, in order, as a line of toolbelt.yaml; "" without any.
func CoreYAML(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		switch strings.ToLower(name) {
		case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		default:
			if plain.MatchString(name) {
				continue
			}
		}
		quoted[i] = strconv.QuoteToASCII(name) // YAML has all the escapes that this makes
	}
	return "core: [" + strings.Join(quoted, ", ") + "]"
}
