package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/eval"
	"toolbelt/internal/proxy"
)

// engineFlags are the flags that all measurements on an engine share.
type engineFlags struct {
	Engine, Model, API string
	Context            int
	Log                string
	Tools              string
	Catalogs           []string
	Data               string
	Out                string
	JSON               bool
}

func (f *engineFlags) add(cmd *cobra.Command, catalogs ...string) {
	flags := cmd.Flags()
	flags.StringVar(&f.Engine, "engine", "", "base `URL` of the engine; without it OLLAMA_HOST")
	flags.StringVar(&f.Model, "model", "", "`name` of one of its models; it must accept tools")
	flags.StringVar(&f.API, "api", eval.OllamaAPI, "protocol: ollama or openai")
	flags.IntVar(&f.Context, "num-ctx", 8192, "context of each request, in `tokens`; 0 for the engine's own (ollama only)")
	flags.StringVar(&f.Log, "engine-log", "", "`file` of the engine's log at its debug level, which tells exactly what was evaluated")
	flags.StringVar(&f.Tools, "tools", "", "`file` of tools to measure with, in place of a built-in catalog")
	flags.StringSliceVar(&f.Catalogs, "catalog", catalogs, "`names` of catalogs: compact, demo, and with --data gaia")
	flags.StringVar(&f.Data, "data", "", "`folder` of the set gaia")
	flags.StringVar(&f.Out, "out", "", "`folder` for the report: JSON, Markdown, a page, and its charts as SVG")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON document and nothing else")
}

// wrong is wrong use.
func wrong(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// target opens the engine; the flags are checked before it is asked for anything.
func (f *engineFlags) target(p Process) (*eval.Target, *url.URL, error) {
	if f.Model == "" {
		return nil, nil, wrong("--model is missing: name one of the engine's models, such as --model qwen3:4b")
	}
	if !slices.Contains([]string{eval.OllamaAPI, eval.OpenAIAPI}, f.API) {
		return nil, nil, wrong("--api is %q: it must be ollama or openai", f.API)
	}
	if f.Context < 0 || f.Context > 1<<22 {
		return nil, nil, wrong("--num-ctx is %d: it must be from 0 to %d", f.Context, 1<<22)
	}
	address := f.Engine
	if address == "" {
		address = valueOf(p.Environ, "OLLAMA_HOST")
	}
	if address == "" {
		address = "http://127.0.0.1:11434"
	}
	base, err := proxy.ParseUpstream(address)
	if err != nil {
		return nil, nil, wrong("--engine: %w", err)
	}
	target := eval.NewTarget(base, untimed(), f.API, f.Model)
	if f.API == eval.OllamaAPI {
		target.Context = f.Context
	}
	if f.Log != "" {
		if target.Log, err = eval.NewEngineLog(absolute(p, f.Log)); err != nil {
			return nil, nil, &usageError{err}
		}
	}
	return target, base, nil
}

// untimed is a client without a timeout: a first token takes a minute.
func untimed() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

func absolute(p Process, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// workloads reads the catalogs. gaia is left out with a line on stderr where there is no data, and wrong use where it is all that was asked for.
func (f *engineFlags) workloads(p Process) ([]*eval.Workload, error) {
	if f.Tools != "" {
		data, err := os.ReadFile(absolute(p, f.Tools))
		if err != nil {
			return nil, wrong("reading --tools: %v", err)
		}
		tools, err := catalog.Parse(data)
		if err != nil {
			return nil, wrong("reading --tools %q: %w", f.Tools, err)
		}
		w, err := eval.ToolsWorkload(filepath.Base(f.Tools), tools)
		if err != nil {
			return nil, &usageError{err}
		}
		return []*eval.Workload{w}, nil
	}
	var list []*eval.Workload
	for _, name := range f.Catalogs {
		w, err := f.workload(p, name)
		if err != nil {
			return nil, err
		}
		if w != nil {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return nil, wrong("there is no catalog to measure with: gaia needs --data, and compact and demo are built in")
	}
	return list, nil
}

// workload is nil where the set is not there.
func (f *engineFlags) workload(p Process, name string) (*eval.Workload, error) {
	if name != eval.GAIAWorkload {
		w, err := eval.BuiltinWorkload(name)
		if err != nil {
			return nil, &usageError{err}
		}
		return w, nil
	}
	if f.Data == "" {
		fmt.Fprintln(p.Stderr, "the catalog gaia is left out: --data names no folder of sets")
		return nil, nil
	}
	dirs, err := eval.FindDatasets(absolute(p, f.Data), []string{name})
	if err != nil {
		fmt.Fprintf(p.Stderr, "the catalog gaia is left out: %v\n", err)
		return nil, nil
	}
	d, err := eval.ReadDataset(dirs[0], "dev", false)
	if err != nil {
		return nil, err
	}
	return eval.SetWorkload(d)
}

// dense is what GAIA's rule is played with: the engine's all-minilm where it has that, else the builtin embedder.
func dense(ctx context.Context, base *url.URL, api, model string) (embed.Embedder, error) {
	if api == eval.OllamaAPI && model != "" {
		if e, err := embed.NewOllama(ctx, embed.OllamaClient(base, http.DefaultClient), model); err == nil {
			return e, nil
		}
	}
	return embed.NewBuiltin()
}

// latencyReport is a report in all its forms.
type latencyReport interface {
	WriteTable(w io.Writer) error
	WriteMarkdown(w io.Writer) error
	WriteHTML(w io.Writer) error
	Pictures() map[string]func(w io.Writer) error
}

// finish writes the report's files, NAME.json, .md and .html and its pictures, where there is a folder for them, and prints it. runErr is what ended the run early, nil where
// nothing did.
func (f *engineFlags) finish(p Process, name string, report latencyReport, runErr error) error {
	if f.Out != "" {
		files := report.Pictures()
		files[name+".json"] = func(w io.Writer) error { return printJSON(w, report) }
		files[name+".md"], files[name+".html"] = report.WriteMarkdown, report.WriteHTML
		if err := written(absolute(p, f.Out), files); err != nil {
			return err
		}
	}
	print := report.WriteTable
	if f.JSON {
		print = func(w io.Writer) error { return printJSON(w, report) }
	}
	if err := print(p.Stdout); err != nil && runErr == nil {
		return err
	}
	return runErr
}

// written are a report's files, each written whole.
func written(dir string, files map[string]func(w io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	for name, write := range files {
		file, err := os.CreateTemp(dir, "."+name+"-")
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		err = errors.Join(write(file), file.Chmod(0o644), file.Close())
		if err == nil {
			err = os.Rename(file.Name(), filepath.Join(dir, name))
		}
		if err != nil {
			_ = os.Remove(file.Name()) // ours, and half written
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}
