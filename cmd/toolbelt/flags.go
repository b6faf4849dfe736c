package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toolbelt/config"
	"toolbelt/internal/proxy"
)

// flagHelp describes the settings that have a flag. Secrets have none: a command line is seen by others.
func flagHelp() map[string]string {
	return map[string]string{
		"listen":         "`host:port` to listen on",
		"upstream":       "the engine's `URL`; without it OLLAMA_HOST",
		"hosts":          "further host `names` that the daemon answers to, separated by commas",
		"db":             "`file` of the database",
		"log":            "what to log: debug, info, warn or error",
		"grace":          "`time` that answers under way have when the daemon is told to stop, such as 30s; a second signal ends it at once",
		"mode":           "on, shadow (plan and log, change nothing) or off",
		"memory":         "on or off; off shows every tool",
		"learn":          "on or off; off keeps nothing of what users say",
		"load-tools":     "on or off; off does not offer the model load_tools",
		"tool-search":    "catalogs of more tools than this `number` get tool_search too; off: none",
		"strategy":       "how a new tool reaches the model: auto, append, late, rebuild or all",
		"skills-dir":     "`folder` of SKILL.md files that are kept in the library",
		"skill-writer":   "`name` of a chat model of the engine that words learned skills; none by default",
		"keep-values":    "on or off; on keeps the values of observed calls' arguments, not their names alone",
		"prewarm":        "on or off; off never asks the engine ahead",
		"tau":            "floor of a match, a `number` from 0 to 20",
		"max-tools":      "cap of the visible list, a `number` from 1 to 1000; beside core and skills at least 3 slots are open to matches, or as many as the cap",
		"budget":         "`time` for one plan, such as 150ms",
		"embedder":       "auto, builtin, ollama, lemonade, openai or off",
		"embed-model":    "`name` of the embedding model",
		"embed-url":      "base `URL` of an OpenAI-compatible embedder",
		"embed-deadline": "`time` for the vectors of one plan, such as 120ms",
	}
}

// addSettings gives cmd --config and the flags of these settings, all of them where none is named.
func addSettings(cmd *cobra.Command, names ...string) {
	help := flagHelp()
	if len(names) == 0 {
		for name := range help {
			names = append(names, name)
		}
	}
	cmd.Flags().String("config", "", "configuration `file` to read")
	for _, name := range names {
		cmd.Flags().String(name, "", help[name])
	}
}

// loadConfig reads the configuration for cmd and prints its warnings. Errors are wrong use.
func loadConfig(cmd *cobra.Command, p Process) (config.Config, config.Provenance, error) {
	src := config.Sources{Environ: p.Environ, Flags: map[string]string{}, Dir: p.Dir}
	help := flagHelp()
	var empty error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch _, isSetting := help[f.Name]; {
		case f.Name == "config" && f.Value.String() == "":
			empty = fmt.Errorf("--config: got an empty value, allowed is a file")
		case f.Name == "config":
			src.File = f.Value.String()
		case isSetting:
			src.Flags[strings.ReplaceAll(f.Name, "-", "_")] = f.Value.String()
		}
	})
	if empty != nil {
		return config.Config{}, config.Provenance{}, &usageError{empty}
	}
	cfg, from, err := config.Load(src)
	if err != nil {
		return cfg, from, &usageError{err}
	}
	upstream, err := proxy.ParseUpstream(cfg.Serve.Upstream)
	if err != nil {
		return cfg, from, &usageError{fmt.Errorf("%s: %w", from.Origins["upstream"], err)}
	}
	cfg.Serve.Upstream = upstream.String()
	for _, warning := range from.Warnings {
		fmt.Fprintf(p.Stderr, "toolbelt: warning: %s\n", warning)
	}
	return cfg, from, nil
}
