package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// progress shows how far a run is: a bar that is redrawn on a terminal, else a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	step     string
	last     time.Time
	width    int // of the line that stands on the terminal
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, now: time.Now}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// How often the bar is redrawn, and a line is written.
const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 5 * time.Second
	barCells    = 30
)

// show implements eval.Progress.
func (p *progress) show(step string, done, of int) {
	now := p.now()
	if step != p.step {
		p.end()
		p.step, p.last = step, now.Add(-redrawEvery)
		if !p.terminal {
			p.last = now
		}
	}
	if !p.terminal {
		if done == of || now.Sub(p.last) >= lineEvery {
			p.last = now
			fmt.Fprintf(p.out, "%s: %d of %d\n", step, done, of)
		}
		return
	}
	if done < of && now.Sub(p.last) < redrawEvery {
		return
	}
	p.last = now
	cells := barCells * done / max(1, of)
	line := fmt.Sprintf("%s%s %d/%d  %s", strings.Repeat("█", cells), strings.Repeat("░", barCells-cells), done, of, step)
	width := utf8.RuneCountInString(line)
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-width)))
	p.width = width
}

// end clears the bar.
func (p *progress) end() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
	p.step = ""
}
