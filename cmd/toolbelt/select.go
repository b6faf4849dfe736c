package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/eval"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// maxToolsFileBytes bounds a file of tools.
const maxToolsFileBytes = 64 << 20

// demoTools names the built-in tools in place of a file; a file of that name is ./demo.
const demoTools = "demo"

// toolsUsage describes --tools.
const toolsUsage = "`file` of tools, - for standard input, demo for the 38 built-in ones"

func newSelectCommand(p Process) *cobra.Command {
	path, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "select --tools FILE MESSAGE",
		Short: "Show which tools a message would get",
		Long: `Show which tools the daemon would choose for the first message of a conversation, in the order sent, with the score and the reason of each.
It ranks any list; the daemon sends one of few and short tools as it is. Remembered skills are not consulted.

FILE is a JSON array of tools, an object with "tools" (also what an MCP server answers to tools/list), or JSON lines, in OpenAI's,
Ollama's or MCP's shape; - is standard input, and demo the 38 tools of "toolbelt demo", which are built in. Scores are the builtin embedder's, in match units: how far a tool stands
out from requests that have nothing to do with it. They decide what is shown; the order comes from ranks, in which words count as well.`,
		Example: `  toolbelt select --tools demo "what is on my calendar tomorrow?"
  toolbelt select --tools demo --max-tools 5 --json "turn the heating up to 21 degrees"
  echo '[{"name":"find_invoice","description":"Find an invoice."}]' | toolbelt select --tools - "find the invoice from May"`,
		Args: oneMessage,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			if path == "" {
				return &usageError{errors.New("--tools is missing: name the file of tools, - for standard input, or demo for the built-in ones")}
			}
			tools, err := readTools(p, path)
			if err != nil {
				return err
			}
			plan, err := selectTools(cmd.Context(), cfg, tools, args[0])
			if err != nil {
				return err
			}
			report := newSelection(plan)
			if asJSON {
				return printJSON(p.Stdout, report)
			}
			return report.print(p.Stdout, len(tools))
		},
	}
	cmd.Flags().StringVar(&path, "tools", "", toolsUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "max-tools", "tau")
	return cmd
}

// oneMessage wants a message, and nothing else, behind a command.
func oneMessage(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("the message is missing")
	case len(args) > 1:
		return fmt.Errorf("got %d messages, allowed is one; put it in quotes", len(args))
	case strings.TrimSpace(args[0]) == "":
		return errors.New("the message is empty")
	}
	return nil
}

// givenTools reads the tools that --tools names, else the catalog that the setting tools names. Neither is wrong use.
func givenTools(p Process, path, configured string) ([]catalog.Tool, error) {
	switch {
	case path != "":
		return readTools(p, path)
	case configured != "":
		return readToolsFile(p, configured)
	}
	return nil, &usageError{errors.New("--tools is missing: name the file of tools, - for standard input, or demo for the built-in ones (the database keeps only names of the tools that were seen)")}
}

// readTools reads the tools that --tools names: a file's, or the built-in ones.
func readTools(p Process, path string) ([]catalog.Tool, error) {
	if path != demoTools {
		return readToolsFile(p, path)
	}
	demo, err := eval.Demo()
	if err != nil {
		return nil, err
	}
	tools := make([]catalog.Tool, 0, len(demo.Tools))
	for _, raw := range demo.Tools {
		if t, ok := catalog.ParseTool(raw); ok { // each has a name: Demo looks
			tools = append(tools, t)
		}
	}
	return tools, nil
}

// readToolsFile reads a file of tools; "-" is standard input.
func readToolsFile(p Process, path string) ([]catalog.Tool, error) {
	data, err := readInput(p, path, maxToolsFileBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the tools: %w", err)
	}
	tools, err := catalog.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading the tools in %q: %w", path, err)
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("reading the tools in %q: there are none", path)
	}
	return tools, nil
}

// readInput reads at most limit bytes of a file, or of standard input where path is "-".
func readInput(p Process, path string, limit int64) ([]byte, error) {
	in := p.Stdin
	if path != "-" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%q is longer than %d bytes", path, limit)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// selection is what `toolbelt select --json` prints.
type selection struct {
	Tools    []selectedTool `json:"tools"`
	Fallback *string        `json:"fallback"` // why every tool is visible, null where a list was made
	Embedder string         `json:"embedder"`
	PlanUS   int64          `json:"plan_us"`
}

type selectedTool struct {
	Name   string         `json:"name"`
	Reason session.Reason `json:"reason"`
	Score  float64        `json:"score"`
}

func newSelection(plan *turn.Plan) selection {
	s := selection{Tools: []selectedTool{}, Embedder: plan.Embedder, PlanUS: plan.Elapsed.Microseconds()}
	for _, t := range plan.Tools {
		s.Tools = append(s.Tools, selectedTool{t.Name, t.Reason, t.Score})
	}
	if plan.Fallback != "" {
		s.Fallback = &plan.Fallback
	}
	return s
}

func (s selection) print(w io.Writer, of int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "#\tTOOL\tSCORE\tREASON")
	for i, t := range s.Tools {
		fmt.Fprintf(table, "%d\t%s\t%.2f\t%s\n", i+1, t.Name, t.Score, t.Reason)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.Fallback != nil {
		_, err := fmt.Fprintf(w, "every tool is visible (%s)\n", *s.Fallback)
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d tools, by %s, in %d µs\n", len(s.Tools), of, orDash(s.Embedder), s.PlanUS)
	return err
}
