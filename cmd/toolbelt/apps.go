package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/telemetry"
)

// appView is what a person can tell an app by, in JSON. Each is empty where it is not known.
type appView struct {
	Family string   `json:"family"`
	Agent  string   `json:"agent"` // product of the User-Agent
	Tools  []string `json:"tools"` // at most three: the most used, else the first
}

func viewOf(l session.Label) appView {
	return appView{l.Family, l.Agent, append([]string{}, l.Tools...)}
}

// labelsOf returns what the database knows of the apps of these turns, by id. Tools are the most called in the turns, else those that the app began with.
func labelsOf(ctx context.Context, db *sqlite.DB, turns []telemetry.Turn) (map[string]session.Label, error) {
	kept, err := db.Labels(ctx)
	if err != nil {
		return nil, err
	}
	labels, calls := map[string]session.Label{}, map[string]map[string]int{}
	for _, l := range kept {
		labels[l.App] = l
	}
	for _, t := range turns {
		if calls[t.App] == nil {
			calls[t.App] = map[string]int{}
		}
		for _, name := range t.Use.Names {
			calls[t.App][name]++
		}
	}
	for app, of := range calls {
		l := labels[app]
		l.App = app
		if names := slices.Collect(maps.Keys(of)); len(names) > 0 {
			slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
			l.Tools = names[:min(len(names), session.LabelTools)]
		}
		labels[app] = l
	}
	return labels, nil
}

func (v appView) text(app string) string {
	return labelText(session.Label{App: app, Family: v.Family, Agent: v.Agent, Tools: v.Tools})
}

// labelText is an app's id, and in brackets what it can be told by: "3f2a… (ollama, open-webui; read_file, send_mail)".
func labelText(l session.Label) string {
	var parts []string
	for _, names := range [][]string{{l.Family, l.Agent}, l.Tools} {
		if text := printables(names); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return l.App
	}
	return fmt.Sprintf("%s (%s)", l.App, strings.Join(parts, "; "))
}

// printables are the names that are not empty, as a terminal can show them.
func printables(names []string) string {
	var shown []string
	for _, name := range names {
		if name != "" {
			shown = append(shown, printable(name))
		}
	}
	return strings.Join(shown, ", ")
}

// maxAppsNamed is how many apps an error names.
const maxAppsNamed = 10

// chooseApp returns the id of the one app that is meant: by its id, by the product of its User-Agent in any case, or by the beginning of its id.
func chooseApp(want string, apps []telemetry.App, labels map[string]session.Label) (string, error) {
	var ids []string
	for _, a := range apps {
		ids = append(ids, a.App)
	}
	if slices.Contains(ids, want) {
		return want, nil
	}
	meant := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !strings.EqualFold(labels[id].Agent, want) && !strings.HasPrefix(id, want)
	})
	if len(meant) == 1 {
		return meant[0], nil
	}
	named := func(ids []string) string {
		var list []string
		for _, id := range ids[:min(len(ids), maxAppsNamed)] {
			list = append(list, labelText(labels[id]))
		}
		return strings.Join(list, ", ")
	}
	if len(meant) > 1 {
		return "", fmt.Errorf("--app %q may mean %d apps, so give more of an id: %s", want, len(meant), named(meant))
	}
	return "", fmt.Errorf("no turn of the app %q is counted in this time; there are those of %s", want, named(ids))
}
