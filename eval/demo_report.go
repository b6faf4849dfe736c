package eval

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// DemoReport is what the demo found; its JSON form is the demo's machine-readable output.
type DemoReport struct {
	Date    string    `json:"date"`    // such as 2025-03-14
	Machine string    `json:"machine"` // that the daemon ran on
	Engine  string    `json:"engine"`
	Model   string    `json:"model"`
	Tools   int       `json:"tools"` // that the app offers with each request
	Core    int       `json:"core"`  // of these, always visible
	Trials  int       `json:"trials"`
	Rows    []DemoRow `json:"rows"` // by way, then turn
	Savings Savings   `json:"savings"`
}

// DemoRow is one turn played one way; times are medians over the trials.
type DemoRow struct {
	Way          string    `json:"way"`
	Turn         int       `json:"turn"` // from 1
	Tools        int       `json:"tools"`
	Names        []string  `json:"names"` // of the tools sent, in order, in the last trial
	PromptTokens int       `json:"prompt_tokens"`
	Needs        string    `json:"needs"`
	Visible      bool      `json:"visible"` // the needed tool, in every trial
	TTFTMS       float64   `json:"ttft_ms"`
	TrialsMS     []float64 `json:"trials_ms"`      // each trial's time to first token
	PromptEvalMS float64   `json:"prompt_eval_ms"` // the engine's own figure
}

// Savings compares the daemon with the engine alone: per cent saved, negative where it cost more.
type Savings struct {
	TurnTTFT     []float64 `json:"turn_ttft_percent"` // of each turn's time to first token
	TotalTTFT    float64   `json:"total_ttft_percent"`
	PromptTokens float64   `json:"total_prompt_tokens_percent"`
}

// NewDemoReport sums up runs of the conversation, each way as often as the other, at least once. Every run has all of the turns. Date and machine are left to the caller.
func NewDemoReport(engine, model string, c *Conversation, runs []Run) DemoReport {
	report := DemoReport{Engine: engine, Model: model, Tools: len(c.Tools), Core: len(c.Core), Trials: len(runs) / 2}
	for _, way := range []string{Straight, Toolbelt} {
		for i := range c.Turns {
			report.Rows = append(report.Rows, demoRow(way, i, runs))
		}
	}
	straight, toolbelt := report.Rows[:len(c.Turns)], report.Rows[len(c.Turns):]
	for i := range straight {
		report.Savings.TurnTTFT = append(report.Savings.TurnTTFT, saved(straight[i].TTFTMS, toolbelt[i].TTFTMS))
	}
	report.Savings.TotalTTFT = saved(totalMS(straight), totalMS(toolbelt))
	report.Savings.PromptTokens = saved(float64(totalTokens(straight)), float64(totalTokens(toolbelt)))
	return report
}

func demoRow(way string, turn int, runs []Run) DemoRow {
	row := DemoRow{Way: way, Turn: turn + 1, Visible: true}
	var evals []float64
	for _, run := range runs {
		if run.Way != way {
			continue
		}
		t := run.Turns[turn]
		row.Tools, row.Names, row.Needs, row.PromptTokens = len(t.Tools), t.Tools, t.Needs, t.Timing.PromptTokens
		row.Visible = row.Visible && t.Visible
		row.TrialsMS = append(row.TrialsMS, milliseconds(t.Timing.FirstToken))
		evals = append(evals, milliseconds(t.Timing.PromptEval))
	}
	row.TTFTMS, row.PromptEvalMS = median(row.TrialsMS), median(evals)
	return row
}

// WriteTable writes the report for a person to read.
func (r DemoReport) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s at %s; the app offers %d tools, %d of them CORE", r.Model, r.Engine, r.Tools, r.Core)
	if r.Trials > 1 {
		fmt.Fprintf(w, "; medians of %d trials", r.Trials)
	}
	fmt.Fprint(w, "\n\n")
	var lines bytes.Buffer
	table := tabwriter.NewWriter(&lines, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "run\tturn\ttools sent\tprompt tokens\tneeded tool\tvisible\tfirst token\tsaved")
	for _, way := range []string{Straight, Toolbelt} {
		var rows []DemoRow
		for _, row := range r.Rows {
			if row.Way == way {
				rows = append(rows, row)
			}
		}
		missed := 0
		for i, row := range rows {
			visible, gain := "yes", ""
			if !row.Visible {
				visible, missed = "NO", missed+1
			}
			if way == Toolbelt {
				gain = percent(r.Savings.TurnTTFT[i])
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", way, row.Turn, row.Tools, row.PromptTokens, row.Needs, visible, seconds(row.TTFTMS), gain)
		}
		visible, gain := "all", ""
		if missed > 0 {
			visible = fmt.Sprintf("%d missed", missed)
		}
		if way == Toolbelt {
			gain = percent(r.Savings.TotalTTFT)
		}
		fmt.Fprintf(table, "%s\tall\t\t%d\t\t%s\t%s\t%s\n", way, totalTokens(rows), visible, seconds(totalMS(rows)), gain)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	for line := range strings.Lines(lines.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	_, err := fmt.Fprintf(w, "\nThrough toolbelt the first answer begins %s, all %d turns together %s, with %s.\n",
		comparison(r.Savings.TurnTTFT[0]), len(r.Savings.TurnTTFT), comparison(r.Savings.TotalTTFT), tokenComparison(r.Savings.PromptTokens))
	return err
}

func comparison(saved float64) string {
	if saved < 0 {
		return percent(-saved) + " later"
	}
	return percent(saved) + " sooner"
}

func tokenComparison(saved float64) string {
	if saved < 0 {
		return percent(-saved) + " more prompt tokens"
	}
	return percent(saved) + " fewer prompt tokens"
}

func percent(saved float64) string { return fmt.Sprintf("%d %%", int(math.Round(saved))) }

func seconds(ms float64) string { return fmt.Sprintf("%.2f s", ms/1000) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// saved is the share of before that after does without, in per cent; 0 where before is 0.
func saved(before, after float64) float64 {
	if before == 0 {
		return 0
	}
	return 100 * (before - after) / before
}

func totalMS(rows []DemoRow) (sum float64) {
	for _, row := range rows {
		sum += row.TTFTMS
	}
	return sum
}

func totalTokens(rows []DemoRow) (sum int) {
	for _, row := range rows {
		sum += row.PromptTokens
	}
	return sum
}

// median of at least one value; the mean of the middle two where there is an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
