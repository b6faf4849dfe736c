package eval

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// bar is one bar of a bar chart: a share with, where high is over low, its interval.
type bar struct {
	series    string
	value     float64
	low, high float64
}

// barGroup is the bars that stand together.
type barGroup struct {
	name string
	bars []bar
}

// Measures of a bar chart, in pixels.
const (
	barRow   = 13 // height of a bar with its gap
	barGap   = 12 // between groups
	barLeft  = 120
	barWidth = 620 // of the value 1
	barTop   = 22
	barRight = 60
)

// barChart draws shares from 0 to 1 as horizontal bars. Colours are classes named for the series.
func barChart(title string, groups []barGroup) template.HTML {
	var body strings.Builder
	y := barTop
	for _, g := range groups {
		height := barRow * len(g.bars)
		fmt.Fprintf(&body, `<text class="name" x="%d" y="%d">%s</text>`, barLeft-8, y+height/2+4, escape(g.name))
		for _, b := range g.bars {
			w := b.value * barWidth
			fmt.Fprintf(&body, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"><title>%s, %s: %.3f</title></rect>`, escape(b.series), barLeft, y, w, barRow-3, escape(g.name), escape(b.series), b.value)
			at := w
			if b.high > b.low {
				at = max(w, b.high*barWidth)
				fmt.Fprintf(&body, `<path class="whisker" d="M%.1f %.1fH%.1f"/>`, barLeft+b.low*barWidth, float64(y)+(barRow-3)/2., barLeft+b.high*barWidth)
			}
			fmt.Fprintf(&body, `<text class="value" x="%.1f" y="%d">%.3f</text>`, barLeft+at+5, y+barRow-4, b.value)
			y += barRow
		}
		y += barGap
	}
	var grid strings.Builder
	for i := range 6 {
		x := barLeft + float64(i)/5*barWidth
		fmt.Fprintf(&grid, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d">%.1f</text>`, x, barTop-6, y-barGap+4, x, barTop-10, float64(i)/5)
	}
	return svg(title, barLeft+barWidth+barRight, y, grid.String()+body.String())
}

// point of a line chart; both coordinates are over 0.
type point struct{ x, y float64 }

// line is one line of a line chart.
type line struct {
	series string
	points []point
}

// Measures of a line chart, in pixels.
const (
	lineLeft, lineTop    = 70, 14
	lineWidth, lineHeigh = 640, 300
)

// logChart draws lines with both axes logarithmic. unit names the y axis, across the x axis.
func logChart(title, across, unit string, lines []line) template.HTML {
	x0, x1, y0, y1 := decades(lines)
	px := func(x float64) float64 { return lineLeft + (math.Log10(x)-x0)/(x1-x0)*lineWidth }
	py := func(y float64) float64 { return lineTop + (y1-math.Log10(y))/(y1-y0)*lineHeigh }
	var body strings.Builder
	for d := x0; d <= x1; d++ {
		x := px(math.Pow(10, d))
		fmt.Fprintf(&body, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d">%s</text>`, x, lineTop, lineTop+lineHeigh, x, lineTop+lineHeigh+16, thousands(math.Pow(10, d)))
	}
	for d := y0; d <= y1; d++ {
		y := py(math.Pow(10, d))
		fmt.Fprintf(&body, `<path class="grid" d="M%d %.1fH%d"/><text class="name" x="%d" y="%.1f">%s</text>`, lineLeft, y, lineLeft+lineWidth, lineLeft-8, y+4, thousands(math.Pow(10, d)))
	}
	for _, l := range lines {
		var d strings.Builder
		for i, p := range l.points {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], px(p.x), py(p.y))
			fmt.Fprintf(&body, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"><title>%s: %s at %s</title></circle>`, escape(l.series), px(p.x), py(p.y), escape(l.series), thousands(math.Round(p.y)), thousands(p.x))
		}
		fmt.Fprintf(&body, `<path class="line %s" d="%s"/>`, escape(l.series), d.String())
	}
	fmt.Fprintf(&body, `<text class="tick" x="%d" y="%d">%s</text><text class="unit" x="%d" y="%d">%s</text>`, lineLeft+lineWidth/2, lineTop+lineHeigh+34, escape(across), lineLeft+6, lineTop+12, escape(unit))
	return svg(title, lineLeft+lineWidth+40, lineTop+lineHeigh+42, body.String())
}

// decades are the powers of ten around all points, at least one apart.
func decades(lines []line) (x0, x1, y0, y1 float64) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			x0, x1 = min(x0, math.Floor(math.Log10(p.x))), max(x1, math.Ceil(math.Log10(p.x)))
			y0, y1 = min(y0, math.Floor(math.Log10(p.y))), max(y1, math.Ceil(math.Log10(p.y)))
		}
	}
	return x0, max(x1, x0+1), y0, max(y1, y0+1)
}

func svg(title string, width, height int, body string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" width="%d" role="img" aria-label="%s">%s</svg>`, width, height, width, escape(title), body))
}

func escape(s string) string { return template.HTMLEscapeString(s) }

// thousands writes a number with a comma before each three digits.
func thousands(x float64) string {
	digits := fmt.Sprintf("%.0f", x)
	if x < 1 {
		return fmt.Sprintf("%g", x)
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
