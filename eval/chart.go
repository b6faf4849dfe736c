package eval

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is a picture of a report: an SVG whose colours are the page's, by name.
type chart struct {
	Title, About string
	File         string // its name where it stands in a file of its own; "" where it does not
	Picture      template.HTML
}

// show sets the picture, or says why there is none.
func (c *chart) show(picture template.HTML, err error) {
	if c.Picture = picture; err != nil {
		c.About += " It could not be drawn: " + err.Error() + "."
	}
}

// palette is the colours of pages and pictures, on light paper and on dark.
//
//go:embed palette.css
var palette string

var notInFileNames = regexp.MustCompile(`[^a-zA-Z0-9_]+`)

// pictureFile is the name of a picture's file: of what it is called, letters, digits and what joins them.
func pictureFile(name string) string { return notInFileNames.ReplaceAllString(name, "-") + ".svg" }

// writeFile writes the picture as a file that needs nothing else, in the reader's choice of light and dark.
func (c chart) writeFile(w io.Writer) error {
	head, rest, _ := strings.Cut(string(c.Picture), ">")
	head = strings.Replace(head, "<svg", `<svg xmlns="http://www.w3.org/2000/svg"`, 1)
	_, err := fmt.Fprintf(w, "%s>\n<style>\n%s</style>\n<rect width=\"100%%\" height=\"100%%\" style=\"fill:var(--paper)\"/>\n%s\n", head, palette, rest)
	return err
}

// inCore is the series of what is always visible.
const inCore = "core"

// Shades of the palette, as colours that stand for their names until the picture is written.
var (
	ink, soft, rule = shade(0), shade(1), shade(2)
	shadeNames      = []string{"ink", "soft", "line", "a", "b", "c", "d", "e", "f"}
	shadeOf         = map[string]int{
		"all": 3, AllWarm: 3, "bm25": 3, ByGAIA: 4, "append": 5, "auto": 5, "toolbelt": 5, "plan": 5, "late": 6, inCore: 5, "dense": 6, "select": 6, "rebuild": 7, "frozen": 7, "unlearned": 7, Floor: 8,
	}
)

func shade(i int) color.Color { return color.NRGBA{R: 1, G: 2, B: uint8(i), A: 255} }

func shadeFor(series string) color.Color {
	if i, ok := shadeOf[series]; ok {
		return shade(i)
	}
	return soft
}

// bar is one bar of a bar chart, where high is over low with its interval.
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

// grouped adds a bar to the group of that name, the last one or a new one.
func grouped(groups []barGroup, name string, b bar) []barGroup {
	if len(groups) == 0 || groups[len(groups)-1].name != name {
		groups = append(groups, barGroup{name: name})
	}
	last := &groups[len(groups)-1]
	last.bars = append(last.bars, b)
	return groups
}

// Measures of charts, in points.
const (
	chartWidth = 600
	lineHeight = 260
	barHeight  = 10. // of a bar with its gap
	axisHeight = 34.
	textSize   = 8.5
)

// bars draws horizontal bars from 0 to the end of the axis, most or, where that is 0, what the values need; form writes a value.
func bars(title string, groups []barGroup, most float64, form string) (template.HTML, error) {
	p := newPlot(nil)
	gap := gapBetween(groups)
	var ticks plot.ConstantTicks
	var spans whiskers
	var values plotter.XYLabels
	y := 0.
	for _, g := range groups {
		top := y
		for _, b := range g.bars {
			rect, err := plotter.NewBarChart(plotter.Values{b.value}, vg.Points(barHeight-2.5))
			if err != nil {
				return "", fmt.Errorf("drawing %q: %w", title, err)
			}
			rect.Horizontal, rect.XMin, rect.Color, rect.LineStyle.Width = true, y, shadeFor(b.series), 0
			p.Add(rect)
			end := b.value
			if b.high > b.low {
				end = max(end, b.high)
				spans = append(spans, whisker{plotter.XY{X: b.value, Y: y}, b.value - b.low, b.high - b.value})
			}
			label := fmt.Sprintf(form, b.value)
			if b.series != "" && (len(g.bars) > 1 || b.series != g.name) {
				label += "  " + b.series
			}
			values.XYs, values.Labels = append(values.XYs, plotter.XY{X: end, Y: y}), append(values.Labels, label)
			y--
		}
		ticks = append(ticks, plot.Tick{Value: (top + y + 1) / 2, Label: g.name})
		y -= gap
	}
	if len(spans) > 0 {
		lines, err := plotter.NewXErrorBars(spans)
		if err != nil {
			return "", fmt.Errorf("drawing %q: %w", title, err)
		}
		lines.Color, lines.CapWidth = ink, 0
		p.Add(lines)
	}
	if err := addLabels(p, values); err != nil {
		return "", fmt.Errorf("drawing %q: %w", title, err)
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.Y.Tick.Label.Color = ink
	p.Y.Min, p.Y.Max, p.X.Min = y+gap, 1, 0
	if most > 0 {
		p.X.Max = most
	}
	return drawn(p, title, axisHeight+(p.Y.Max-p.Y.Min)*barHeight), nil
}

// gapBetween is how far groups stand apart, in bars: less where each is a bar of its own.
func gapBetween(groups []barGroup) float64 {
	if slices.ContainsFunc(groups, func(g barGroup) bool { return len(g.bars) > 1 }) {
		return 1
	}
	return .4
}

type whisker struct {
	plotter.XY
	low, high float64
}

// whiskers are plotter.XErrorer and XYer.
type whiskers []whisker

func (v whiskers) Len() int                        { return len(v) }
func (v whiskers) XY(i int) (float64, float64)     { return v[i].X, v[i].Y }
func (v whiskers) XError(i int) (float64, float64) { return v[i].low, v[i].high }

// point of a line chart.
type point struct{ x, y float64 }

// line is one line of a line chart.
type line struct {
	series string
	points []point
}

// lines draws lines from 0, or with both axes logarithmic, where every coordinate is over 0.
func lines(title, across, up string, of []line, logarithmic bool) (template.HTML, error) {
	p := newPlot(rule)
	var names plotter.XYLabels
	for _, l := range of {
		xys := make(plotter.XYs, len(l.points))
		for i, pt := range l.points {
			xys[i] = plotter.XY{X: pt.x, Y: pt.y}
		}
		path, dots, err := plotter.NewLinePoints(xys)
		if err != nil {
			return "", fmt.Errorf("drawing %q: %w", title, err)
		}
		path.Color, path.Width = shadeFor(l.series), vg.Points(1.5)
		dots.Color, dots.Shape, dots.Radius = shadeFor(l.series), draw.CircleGlyph{}, vg.Points(2.5)
		p.Add(path, dots)
		names.XYs, names.Labels = append(names.XYs, xys[len(xys)-1]), append(names.Labels, l.series)
	}
	if err := addLabels(p, names); err != nil {
		return "", fmt.Errorf("drawing %q: %w", title, err)
	}
	p.X.Label.Text, p.Y.Label.Text = across, up
	if logarithmic {
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	} else {
		p.X.Min, p.Y.Min = 0, 0
		if ticks := measuredTicks(of); ticks != nil {
			p.X.Tick.Marker = ticks
		}
	}
	return drawn(p, title, lineHeight), nil
}

// Ticks of an axis.
const (
	fewTicks  = 8       // places that were measured are ticks themselves where they are no more
	closest   = 1 / 20. // and no two are nearer to each other, as a share of the axis
	mostSteps = 8       // of an axis with round ticks
)

// measuredTicks are the places at which the lines have points; nil where they are too many, or too near to each other to be read.
func measuredTicks(of []line) plot.ConstantTicks {
	var xs []float64
	for _, l := range of {
		for _, pt := range l.points {
			xs = append(xs, pt.x)
		}
	}
	slices.Sort(xs)
	if xs = slices.Compact(xs); len(xs) > fewTicks {
		return nil
	}
	ticks := make(plot.ConstantTicks, len(xs))
	for i, x := range xs {
		if i > 0 && x-xs[i-1] < closest*xs[len(xs)-1] {
			return nil
		}
		ticks[i] = tick(x)
	}
	return ticks
}

func tick(value float64) plot.Tick {
	return plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', 6, 64)}
}

// addLabels writes each label right of its place.
func addLabels(p *plot.Plot, of plotter.XYLabels) error {
	labels, err := plotter.NewLabels(of)
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		s := &labels.TextStyle[i]
		s.Font, s.Color, s.YAlign = chartFont(), soft, draw.YCenter
	}
	labels.Offset = vg.Point{X: vg.Points(5), Y: vg.Points(1)}
	p.Add(labels)
	return nil
}

// roundTicks are the multiples of 1, 2 or 5 times a power of ten from low to high, with at most mostSteps between them; plot's own are but two or three.
func roundTicks(low, high float64) []plot.Tick {
	if high <= low {
		return nil
	}
	power := math.Pow10(int(math.Floor(math.Log10((high - low) / mostSteps))))
	step := power
	for _, times := range []float64{2, 5, 10} {
		if (high-low)/step > mostSteps {
			step = times * power
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, tick(i*step))
	}
	return ticks
}

func chartFont() font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, textSize)
}

// newPlot is an empty plot with lines up from its ticks, and where level is a colour, level ones too. What is added is drawn over them.
func newPlot(level color.Color) *plot.Plot {
	p := plot.New()
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = rule, level
	p.Add(grid)
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = rule, rule
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = chartFont(), chartFont()
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = soft, soft
		axis.Padding, axis.Tick.Marker = 0, plot.TickerFunc(roundTicks)
	}
	return p
}

var (
	shadeCode = regexp.MustCompile(`#0102([0-9A-F]{2})`)
	svgStart  = regexp.MustCompile(`(?s)^.*?<svg [^>]*?viewBox="([^"]*)"[^>]*>`)
)

// drawn is a plot of this height, in points, as an SVG element.
func drawn(p *plot.Plot, title string, height float64) template.HTML {
	canvas := vgsvg.New(vg.Points(chartWidth), vg.Points(height))
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(6), vg.Points(-8), vg.Points(4), vg.Points(-6)))
	var out bytes.Buffer
	_, _ = canvas.WriteTo(&out) // a buffer takes everything
	text := svgStart.ReplaceAllString(out.String(), `<svg viewBox="$1" width="800" role="img" aria-label="`+strings.ReplaceAll(template.HTMLEscapeString(title), "$", "$$")+`">`)
	text = shadeCode.ReplaceAllStringFunc(text, func(code string) string {
		var i int
		if _, err := fmt.Sscanf(code, "#0102%X", &i); err != nil || i >= len(shadeNames) {
			return code
		}
		return "var(--" + shadeNames[i] + ")"
	})
	return template.HTML(strings.ReplaceAll(text, "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
}
