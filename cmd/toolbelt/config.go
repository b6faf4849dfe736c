package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/config"
	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
)

func newConfigCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force and where each came from",
		Long: `Print the settings in force and where each came from: a flag, a TOOLBELT_ variable, the configuration file, or the
default. Secrets are shown as "set" or "not set". An app that has used some tools in 30 % of its sessions or more has the five most used
always visible; these lists are shown below the settings, each app with the protocol that it speaks, the product of its User-Agent and its tools.`,
		Example: `  toolbelt config
  TOOLBELT_MAX_TOOLS=20 toolbelt config --json
  toolbelt config --config ./toolbelt.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, from, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			report := configReport{File: from.File, Warnings: append([]string{}, from.Warnings...)}
			for _, s := range cfg.Settings(from) {
				report.Settings = append(report.Settings, settingRow{s.Key, s.Value, s.Origin.String()})
			}
			var unread error // the settings are shown all the same
			if report.AutomaticCore, report.Apps, unread = automaticCore(cmd.Context(), cfg, warnings(p, cfg)); unread != nil {
				unread = fmt.Errorf("the apps' own lists are not shown: %w", unread)
			}
			if asJSON {
				return cmp.Or(printJSON(p.Stdout, report), unread)
			}
			return cmp.Or(report.print(p.Stdout), unread)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd)
	return cmd
}

// configReport is what `toolbelt config --json` prints.
type configReport struct {
	File          string              `json:"file"` // "" where no file was read
	Settings      []settingRow        `json:"settings"`
	AutomaticCore map[string][]string `json:"automatic_core"` // by app, an opaque id
	Apps          map[string]appView  `json:"apps"`           // what each of these can be told by
	Warnings      []string            `json:"warnings"`
}

type settingRow struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

func (r configReport) print(w io.Writer) error {
	if r.File == "" {
		fmt.Fprintln(w, "no configuration file")
	} else {
		fmt.Fprintf(w, "configuration file %s\n", r.File)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, s := range r.Settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, showValue(s.Value), s.From)
	}
	for _, app := range slices.Sorted(maps.Keys(r.AutomaticCore)) {
		fmt.Fprintf(table, "core of app %s\t%s\t%s\n", r.Apps[app].text(app), printables(r.AutomaticCore[app]), "what it uses most")
	}
	return table.Flush()
}

func showValue(v any) string {
	switch v := v.(type) {
	case []string:
		return orDash(strings.Join(v, ", "))
	case []bundles.Bundle:
		var names []string
		for _, b := range v {
			names = append(names, fmt.Sprintf("%s (%d)", b.Name, len(b.Members)))
		}
		return orDash(strings.Join(names, ", "))
	case bool:
		if v {
			return string(config.On)
		}
		return string(config.Off)
	}
	return orDash(fmt.Sprint(v))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printJSON prints v as one indented JSON document.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// automaticCore returns the automatic CORE of each app that the database knows, and what each of these apps can be told by; none where there is no database yet.
func automaticCore(ctx context.Context, cfg config.Config, log *slog.Logger) (map[string][]string, map[string]appView, error) {
	cores, apps := map[string][]string{}, map[string]appView{}
	if cfg.Store.Path == "" {
		return cores, apps, nil
	}
	db, err := sqlite.OpenExisting(ctx, cfg.Store.Path, log)
	switch {
	case err == nil:
	case catalog.KindOf(err) == catalog.NotFound:
		return cores, apps, nil
	default:
		return cores, apps, err
	}
	defer db.Close()
	sessions, err := session.Open(db, time.Now, log)
	if err != nil {
		return cores, apps, err
	}
	defer sessions.Close()
	cores = sessions.AutomaticCores()
	for app := range cores {
		apps[app] = viewOf(sessions.Label(app))
	}
	return cores, apps, nil
}
