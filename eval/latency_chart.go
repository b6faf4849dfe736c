package eval

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// nameWidth is the room for the names of a chart of times, in pixels.
const nameWidth = 170

// timeBars draws seconds as horizontal bars, on a scale of its own. Colours are classes named for the series.
func timeBars(title string, groups []barGroup) template.HTML {
	most := 0.
	for _, g := range groups {
		for _, b := range g.bars {
			most = max(most, b.value, b.high)
		}
	}
	step := niceStep(most)
	scale := barWidth / (step * math.Ceil(max(most, step)/step))
	var body strings.Builder
	y := barTop
	for _, g := range groups {
		fmt.Fprintf(&body, `<text class="name" x="%d" y="%d">%s</text>`, nameWidth-8, y+barRow*len(g.bars)/2+4, escape(g.name))
		for _, b := range g.bars {
			fmt.Fprintf(&body, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"><title>%s, %s: %.2f s</title></rect>`,
				escape(b.series), nameWidth, y, max(1, b.value*scale), barRow-3, escape(g.name), escape(b.series), b.value)
			end := b.value
			if b.high > b.low {
				end = max(end, b.high)
				fmt.Fprintf(&body, `<path class="whisker" d="M%.1f %.1fH%.1f"/>`, nameWidth+b.low*scale, float64(y)+(barRow-3)/2., nameWidth+b.high*scale)
			}
			fmt.Fprintf(&body, `<text class="value" x="%.1f" y="%d">%.2f s</text>`, nameWidth+end*scale+5, y+barRow-4, b.value)
			y += barRow
		}
		y += barGap
	}
	var grid strings.Builder
	for x := 0.; x*scale <= barWidth+.5; x += step {
		at := nameWidth + x*scale
		fmt.Fprintf(&grid, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d">%g</text>`, at, barTop-6, y-barGap+4, at, barTop-10, x)
	}
	return svg(title, nameWidth+barWidth+barRight, y, grid.String()+body.String())
}

// niceStep is a step of 1, 2 or 5 times a power of ten by which at most is reached in four to ten.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, f := range []float64{.1, .2, .5, 1} {
		if most/(f*power) <= 10 {
			return f * power
		}
	}
	return power
}

// linearChart draws lines with both axes from 0. The points may be at 0.
func linearChart(title, across, unit string, lines []line) template.HTML {
	var x1, y1 float64
	for _, l := range lines {
		for _, p := range l.points {
			x1, y1 = max(x1, p.x), max(y1, p.y)
		}
	}
	dx, dy := niceStep(x1), niceStep(y1)
	x1, y1 = dx*math.Ceil(max(x1, dx)/dx), dy*math.Ceil(max(y1, dy)/dy)
	px := func(x float64) float64 { return lineLeft + x/x1*lineWidth }
	py := func(y float64) float64 { return lineTop + (1-y/y1)*lineHeigh }
	var body strings.Builder
	for i := 0.; i <= math.Round(x1/dx); i++ {
		fmt.Fprintf(&body, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d">%g</text>`, px(i*dx), lineTop, lineTop+lineHeigh, px(i*dx), lineTop+lineHeigh+16, i*dx)
	}
	for i := 0.; i <= math.Round(y1/dy); i++ {
		fmt.Fprintf(&body, `<path class="grid" d="M%d %.1fH%d"/><text class="name" x="%d" y="%.1f">%s</text>`, lineLeft, py(i*dy), lineLeft+lineWidth, lineLeft-8, py(i*dy)+4, thousands(i*dy))
	}
	for _, l := range lines {
		var d strings.Builder
		for i, p := range l.points {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], px(p.x), py(p.y))
			fmt.Fprintf(&body, `<circle class="%s" cx="%.1f" cy="%.1f" r="3"><title>%s: %s at %g</title></circle>`, escape(l.series), px(p.x), py(p.y), escape(l.series), thousands(math.Round(p.y)), p.x)
		}
		fmt.Fprintf(&body, `<path class="line %s" d="%s"/>`, escape(l.series), d.String())
	}
	fmt.Fprintf(&body, `<text class="tick" x="%d" y="%d">%s</text><text class="unit" x="%d" y="%d">%s</text>`, lineLeft+lineWidth/2, lineTop+lineHeigh+34, escape(across), lineLeft+6, lineTop+12, escape(unit))
	return svg(title, lineLeft+lineWidth+40, lineTop+lineHeigh+42, body.String())
}
