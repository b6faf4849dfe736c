package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
)

// historyOf lists a skill's former versions, or brings one back.
func historyOf(p Process, name string, restore *int, asJSON *bool) func(context.Context, *sqlite.DB, *skills.Library) error {
	return func(ctx context.Context, db *sqlite.DB, library *skills.Library) error {
		now, err := library.Show(ctx, name)
		if err != nil {
			return err
		}
		former, err := db.Versions(ctx, name)
		if err != nil {
			return err
		}
		if *restore != 0 {
			return restoreSkill(ctx, p, library, now, former, *restore)
		}
		list := append([]skills.Procedure{now}, former...)
		if *asJSON {
			return printJSON(p.Stdout, map[string]any{"versions": list})
		}
		table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "VERSION\tFROM\tSTATE\tORIGIN\tWHEN TO USE")
		for _, s := range list {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", s.Version, s.Updated.Format(time.DateTime), enabledWord(s.Enabled), originOf(s), clip(s.WhenToUse, whenColumns))
		}
		return table.Flush()
	}
}

func restoreSkill(ctx context.Context, p Process, library *skills.Library, now skills.Procedure, former []skills.Procedure, version int) error {
	i := slices.IndexFunc(former, func(s skills.Procedure) bool { return s.Version == version })
	if version == now.Version {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("version %d of the skill %q is the one that holds: name a former one", version, now.Name), nil)
	}
	if i < 0 {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("the skill %q has no former version %d: \"toolbelt skills history %s\" lists those that it has", now.Name, version, now.Name), nil)
	}
	s := former[i]
	s.Version = now.Version
	saved, err := library.Save(ctx, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "brought back version %d of the skill %s, as version %d\n", version, saved.Name, saved.Version)
	return err
}
