package config

import (
	"time"

	"toolbelt/bundles"
)

// setting is one key: how it is written in the file. The variable is TOOLBELT_ and the key in
// capitals, the flag is -- and the key with dashes.
type setting struct {
	key      string
	fallback string // a variable of other programs that is read where nothing of ours is set
	std      string // the default's text, "" for the zero value
	fileOnly bool
	secret   bool
	set      func(c *Config, v value) error // the error says what is allowed
	get      func(c *Config) any
}

// settings returns the table of all keys, in the order in which they are shown and validated.
func settings() []setting {
	return append(append(serveSettings(), selectionSettings()...), embedSettings()...)
}

func serveSettings() []setting {
	return []setting{
		{key: "listen", std: "127.0.0.1:11435",
			set: func(c *Config, v value) (err error) { c.Serve.Listen, err = v.listen(); return },
			get: func(c *Config) any { return c.Serve.Listen }},
		{key: "upstream", fallback: "OLLAMA_HOST", std: "http://127.0.0.1:11434",
			set: func(c *Config, v value) (err error) { c.Serve.Upstream, err = v.engine(); return },
			get: func(c *Config) any { return c.Serve.Upstream }},
		{key: "token", secret: true,
			set: func(c *Config, v value) (err error) { c.Serve.Token, err = v.secret(); return },
			get: func(c *Config) any { return c.Serve.Token }},
		{key: "hosts",
			set: func(c *Config, v value) (err error) { c.Serve.Hosts, err = v.hosts(); return },
			get: func(c *Config) any { return nonNil(c.Serve.Hosts) }},
		{key: "db",
			set: func(c *Config, v value) (err error) { c.Store.Path, err = v.path(); return },
			get: func(c *Config) any { return c.Store.Path }},
		{key: "log", std: "info",
			set: func(c *Config, v value) (err error) { c.Log.Level, err = v.level(); return },
			get: func(c *Config) any { return c.Log.Level }},
		{key: "grace", std: "30s",
			set: func(c *Config, v value) (err error) { c.Serve.Grace, err = v.duration(0, time.Hour); return },
			get: func(c *Config) any { return c.Serve.Grace }},
		{key: "tools", fileOnly: true,
			set: func(c *Config, v value) (err error) { c.Serve.Tools, err = v.path(); return },
			get: func(c *Config) any { return c.Serve.Tools }},
	}
}

func selectionSettings() []setting {
	return []setting{
		{key: "mode", std: "on",
			set: func(c *Config, v value) (err error) { c.Selection.Mode, err = v.mode(); return },
			get: func(c *Config) any { return c.Selection.Mode }},
		{key: "memory", std: "on",
			set: func(c *Config, v value) (err error) { c.Selection.Memory, err = v.boolean(); return },
			get: func(c *Config) any { return c.Selection.Memory }},
		{key: "learn", std: "on",
			set: func(c *Config, v value) (err error) { c.Selection.Learn, err = v.boolean(); return },
			get: func(c *Config) any { return c.Selection.Learn }},
		{key: "tau", std: formatFloat(DefaultThreshold),
			set: func(c *Config, v value) (err error) { c.Selection.Threshold, err = v.number(0, 20); return },
			get: func(c *Config) any { return c.Selection.Threshold }},
		{key: "max_tools", std: "14",
			set: func(c *Config, v value) (err error) { c.Selection.MaxTools, err = v.integer(1, 1000); return },
			get: func(c *Config) any { return c.Selection.MaxTools }},
		{key: "budget", std: "150ms",
			set: func(c *Config, v value) (err error) {
				c.Selection.Budget, err = v.duration(time.Millisecond, time.Minute)
				return
			},
			get: func(c *Config) any { return c.Selection.Budget }},
		{key: "load_tools", std: "on",
			set: func(c *Config, v value) (err error) { c.Selection.LoadTools, err = v.boolean(); return },
			get: func(c *Config) any { return c.Selection.LoadTools }},
		{key: "tool_search", std: "100",
			set: func(c *Config, v value) (err error) { c.Selection.ToolSearch, err = v.integerOrOff(100_000); return },
			get: func(c *Config) any { return c.Selection.ToolSearch }},
		{key: "strategy", std: "auto",
			set: func(c *Config, v value) (err error) { c.Prefix.Strategy, err = v.strategy(); return },
			get: func(c *Config) any { return c.Prefix.Strategy }},
		{key: "prewarm", std: "on",
			set: func(c *Config, v value) (err error) { c.Prefix.Prewarm, err = v.boolean(); return },
			get: func(c *Config) any { return c.Prefix.Prewarm }},
		{key: "skills_dir",
			set: func(c *Config, v value) (err error) { c.Skills.Dir, err = v.path(); return },
			get: func(c *Config) any { return c.Skills.Dir }},
		{key: "skill_writer",
			set: func(c *Config, v value) (err error) { c.Skills.Writer, err = v.line(200); return },
			get: func(c *Config) any { return c.Skills.Writer }},
		{key: "skill_body", std: "off",
			set: func(c *Config, v value) (err error) { c.Skills.Body, err = v.boolean(); return },
			get: func(c *Config) any { return c.Skills.Body }},
		{key: "keep_values", std: "off",
			set: func(c *Config, v value) (err error) { c.Skills.KeepValues, err = v.boolean(); return },
			get: func(c *Config) any { return c.Skills.KeepValues }},
		{key: "core", fileOnly: true,
			set: func(c *Config, v value) error { c.Selection.Core, _ = v.raw.([]string); return nil },
			get: func(c *Config) any { return nonNil(c.Selection.Core) }},
		{key: "bundles", fileOnly: true,
			set: func(c *Config, v value) error { c.Selection.Bundles, _ = v.raw.([]bundles.Bundle); return nil },
			get: func(c *Config) any { return nonNil(c.Selection.Bundles) }},
	}
}

func embedSettings() []setting {
	return []setting{
		{key: "embedder", std: "auto",
			set: func(c *Config, v value) (err error) { c.Embed.Kind, err = v.embedder(); return },
			get: func(c *Config) any { return c.Embed.Kind }},
		{key: "embed_model",
			set: func(c *Config, v value) (err error) { c.Embed.Model, err = v.line(200); return },
			get: func(c *Config) any { return c.Embed.Model }},
		{key: "embed_url", fallback: "LEMONADE_BASE_URL",
			set: func(c *Config, v value) (err error) { c.Embed.URL, err = v.baseURL(); return },
			get: func(c *Config) any { return c.Embed.URL }},
		{key: "embed_key", fallback: "LEMONADE_API_KEY", secret: true,
			set: func(c *Config, v value) (err error) { c.Embed.Key, err = v.secret(); return },
			get: func(c *Config) any { return c.Embed.Key }},
		{key: "embed_deadline", std: "120ms",
			set: func(c *Config, v value) (err error) {
				c.Embed.Deadline, err = v.duration(time.Millisecond, time.Minute)
				return
			},
			get: func(c *Config) any { return c.Embed.Deadline }},
	}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
