package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toolbelt/internal/admission"
	"toolbelt/internal/turn"
)

func newExplainCommand(p Process) *cobra.Command {
	path, tool, asJSON := "", "", false
	cmd := &cobra.Command{
		Use:   "explain --tool NAME --tools FILE MESSAGE",
		Short: "Say why a tool is visible for a message, or why it is not",
		Long: `Say why the daemon would let a model see a tool for a first message, or why not: each signal, its place among all tools, the floor, the
cap, and which tools have the slots. The plan is the one that "toolbelt select" shows. The last line says what to do.

FILE is what "toolbelt select" takes; without --tools it is the catalog that the setting tools names. A running daemon
explains the sessions of its own API at POST /toolbelt/v1/explain, with the engine's embedder and what was learned; a list of few and
short tools is ranked here and sent as it is there.`,
		Example: `  toolbelt explain --tools demo --tool send_text_message "tell Ann that I am late"
  toolbelt explain --tools demo --tool send_text_message --tau 3 --json "tell Ann that I am late"`,
		Args: oneMessage,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			if tool == "" {
				return &usageError{errors.New("--tool is missing: name the tool to explain")}
			}
			tools, err := givenTools(p, path, cfg.Serve.Tools)
			if err != nil {
				return err
			}
			e, err := explainTool(cmd.Context(), cfg, tools, args[0], tool)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(p.Stdout, e)
			}
			return printExplanation(p.Stdout, e)
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "", "`name` of the tool to explain")
	cmd.Flags().StringVar(&path, "tools", "", toolsUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "max-tools", "tau")
	return cmd
}

func printExplanation(w io.Writer, e turn.Explanation) error {
	fmt.Fprintf(w, "%s\n%s\n", e.Tool, e.Why)
	for _, r := range e.Recalled {
		how := "its tools fill what nothing else wants"
		if r.First {
			how = "its tools come before matches"
		}
		if r.Body {
			how += ", and the model is told its text"
		}
		fmt.Fprintf(w, "the skill %s fits the message (%.1f over unrelated requests): %s\n", r.Skill, r.Height, how)
	}
	if e.Signals != nil {
		if err := printSignals(w, e.Signals, e.Floor); err != nil {
			return err
		}
	}
	if e.Fallback == "" {
		if err := printSlots(w, e); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", e.Do)
	return err
}

func printSignals(w io.Writer, s *turn.Signals, floor turn.Bar) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nSIGNAL\tVALUE\t\n")
	fmt.Fprintf(table, "place\t%d of %d\tby rank %.2f\n", s.Place, s.Of, s.Rank)
	fmt.Fprintf(table, "match\t%.2f\ttau is %.2f%s\n", s.Match, floor.Tau, lowered(floor))
	fmt.Fprintf(table, "words\t%.2f\tor %.2f\n", s.Words, floor.Words)
	fmt.Fprintf(table, "BM25\t%.2f\tof the message\n", s.BM25)
	for _, v := range s.Views {
		what := "cosine with"
		if v.Example {
			what = "worth of an example for"
		}
		fmt.Fprintf(table, "%s\t%.2f\t%s %q; unrelated requests give it %.2f ± %.2f, so z is %.2f\n", v.Model, v.Cosine, what, shortened(v.Text), v.Mean, v.Deviation, v.Z)
	}
	if p := s.Prepares; p != nil {
		fmt.Fprintf(table, "prepares\t%.2f\tpart of the rank: it gives what %s requires; counts as a match of %.2f\n", p.Rise, p.Tool, p.Match)
	}
	if d := s.Does; d != nil {
		asked := "which is asked for"
		if d.Rise < 0 {
			asked = "and something else is asked for"
		}
		fmt.Fprintf(table, "does\t%.2f\tpart of the rank: its name says %s, %s\n", d.Rise, d.Deed, asked)
	}
	if l := s.Learned; l != nil {
		fmt.Fprintf(table, "learned\t%.2f\tnear %.2f, habit %.2f, expected next: %t\n", l.Match, l.Near, l.Habit, l.Sure)
	}
	return table.Flush()
}

// lowered says what is enough on a turn that clearly needs a tool; "" on any other.
func lowered(floor turn.Bar) string {
	if floor.Least >= floor.Tau {
		return ""
	}
	return fmt.Sprintf("; this turn clearly needs a tool, so %.2f is enough for those that rank among the best %d", floor.Least, floor.Tools)
}

func printSlots(w io.Writer, e turn.Explanation) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n#\tTOOL\tSCORE\tREASON\tPLACE\n")
	for i, h := range e.Slots.Tools {
		fmt.Fprintf(table, "%d\t%s\t%.2f\t%s\t%d\n", i+1, h.Name, h.Score, h.Reason, h.Place)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d visible, max_tools is %d%s; %d over the floor without a slot\n", len(e.Slots.Tools), e.Slots.MaxTools, widened(e.Slots), len(e.Slots.Skipped))
	return err
}

// widened says why the list of a first message is longer than max_tools; "" where it is not.
func widened(s turn.Slots) string {
	if len(s.Tools) <= s.MaxTools {
		return ""
	}
	return fmt.Sprintf(" and leaves %s to matches whatever core and skills take", count(admission.OpenSlots(s.MaxTools), "slot"))
}

// maxShown is how many characters of a text are shown.
const maxShown = 60

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}
