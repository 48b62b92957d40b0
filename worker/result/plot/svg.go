package plot

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"gpurun/worker/result/printable"
)

// Sizes in a drawing, in pixels.
const (
	panelWidth, panelHeight = 460.0, 300.0 // with the labels, without the legend
	marginLeft, marginRight = 62.0, 18.0
	marginTop, marginBottom = 34.0, 44.0
	legendRow               = 18.0
	legendColumns           = 2
	titleHeight             = 30.0
	panelsPerRow            = 2
)

// The grays and colors are legible on white and on black pages. Color-blind readers can
// distinguish the colors (Okabe and Ito); markers and dashes need no colors.
const ink, grid = "#7d7d7d", "#9a9a9a"

func colors() []string {
	return []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8a6d3b", "#7d7d7d"}
}

// SVG draws panels, two in a row, as one document that needs nothing else.
func SVG(w io.Writer, title string, panels []Panel) error {
	var b strings.Builder
	rowHeight := panelHeight
	for _, p := range panels {
		rowHeight = max(rowHeight, panelHeight+legendHeight(p))
	}
	rows := (len(panels) + panelsPerRow - 1) / panelsPerRow
	width, height := panelWidth*panelsPerRow, titleHeight+rowHeight*float64(rows)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`role="img" font-family="system-ui, sans-serif" font-size="12" fill="%s">`+"\n", width, height, width, height, ink)
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(title))
	fmt.Fprintf(&b, `<text x="%.0f" y="20" text-anchor="middle" font-size="15">%s</text>`+"\n", width/2,
		escaped(title))
	for i, p := range panels {
		x := float64(i%panelsPerRow) * panelWidth
		y := titleHeight + float64(i/panelsPerRow)*rowHeight
		fmt.Fprintf(&b, `<g transform="translate(%.0f %.0f)">`+"\n", x, y)
		drawing{&b, p}.draw()
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func legendHeight(p Panel) float64 {
	entries := 0
	for _, l := range p.drawn() {
		if len(l.Points) > 0 {
			entries++
		}
	}
	if p.Level != nil {
		entries++
	}
	return legendRow * math.Ceil(float64(entries)/legendColumns)
}

// drawing writes a panel as SVG.
type drawing struct {
	b *strings.Builder
	p Panel
}

func (d drawing) draw() {
	x, y := d.p.axes()
	d.text(panelWidth/2, 18, "middle", d.p.Title)
	if d.p.Empty() {
		d.text(panelWidth/2, panelHeight/2, "middle", "nothing to draw")
		return
	}
	place := func(at Point) (float64, float64) { return horizontal(x.at(at.X)), vertical(y.at(at.Y)) }
	d.axes(x, y)
	if l := d.p.Level; l != nil && drawable(l.Y) {
		d.rule(horizontal(0), vertical(y.at(l.Y)), horizontal(1), vertical(y.at(l.Y)), ink, "6 4")
	}
	for i, line := range d.p.drawn() {
		d.line(i, line.Points, place)
	}
	d.legend()
}

// horizontal and vertical place what is from 0 to 1 of the way along an axis.
func horizontal(part float64) float64 {
	return marginLeft + part*(panelWidth-marginLeft-marginRight)
}

func vertical(part float64) float64 {
	return panelHeight - marginBottom - part*(panelHeight-marginTop-marginBottom)
}

func (d drawing) axes(x, y axis) {
	for _, v := range x.powersOf2(7) {
		at := horizontal(x.at(v))
		d.rule(at, vertical(0), at, vertical(1), grid, "")
		d.text(at, vertical(0)+16, "middle", d.p.XTick(v))
	}
	for _, v := range y.decades(9) {
		at := vertical(y.at(v))
		d.rule(horizontal(0), at, horizontal(1), at, grid, "")
		d.text(horizontal(0)-6, at+4, "end", decimal(v))
	}
	d.rule(horizontal(0), vertical(0), horizontal(1), vertical(0), ink, "none")
	d.rule(horizontal(0), vertical(0), horizontal(0), vertical(1), ink, "none")
	d.text(horizontal(0.5), vertical(0)+34, "middle", d.p.XLabel)
	middle := vertical(0.5)
	fmt.Fprintf(d.b, `<text x="14" y="%.1f" text-anchor="middle" transform="rotate(-90 14 %.1f)">%s</text>`+"\n",
		middle, middle, escaped(d.p.YLabel))
}

// rule is a straight line; without dashes it is faint, with "none" it is not.
func (d drawing) rule(x1, y1, x2, y2 float64, color, dashes string) {
	style := fmt.Sprintf(`stroke-dasharray="%s"`, dashes)
	if dashes == "" {
		style = `stroke-opacity="0.35" stroke-width="0.7"`
	}
	fmt.Fprintf(d.b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" %s/>`+"\n", x1, y1, x2, y2, color, style)
}

// escaped is text in XML, which knows most control characters in no form.
func escaped(text string) string { return html.EscapeString(printable.Text(text)) }

func (d drawing) text(x, y float64, anchor, text string) {
	fmt.Fprintf(d.b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, escaped(text))
}

// line draws the i-th line through points, with a marker at each.
func (d drawing) line(i int, points []Point, place func(Point) (x, y float64)) {
	if len(points) == 0 {
		return
	}
	var path, markers strings.Builder
	for n, at := range points {
		x, y := place(at)
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[n == 0], x, y)
		markers.WriteString(marker(i, x, y))
	}
	d.stroke(i, path.String(), markers.String())
}

// stroke draws a path and markers as the i-th line is drawn.
func (d drawing) stroke(i int, path, markers string) {
	palette, dashes := colors(), ""
	color := palette[i%len(palette)]
	if i >= len(palette) {
		dashes = ` stroke-dasharray="3 3"`
	}
	fmt.Fprintf(d.b, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"%s/>`+"\n", path,
		color, dashes)
	fmt.Fprintf(d.b, `<path d="%s" fill="%s"/>`+"\n", markers, color)
}

// marker is the path of the i-th line's marker: a square, a triangle, a diamond, or
// a triangle on its head.
func marker(i int, x, y float64) string {
	const r = 4.0
	corners := [...][]Point{
		{{-3.2, -3.2}, {3.2, -3.2}, {3.2, 3.2}, {-3.2, 3.2}},
		{{0, -r}, {r, 3}, {-r, 3}},
		{{0, -r - 1}, {r + 1, 0}, {0, r + 1}, {-r - 1, 0}},
		{{0, r}, {r, -3}, {-r, -3}},
	}
	var b strings.Builder
	for n, c := range corners[i%len(corners)] {
		fmt.Fprintf(&b, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[n == 0], x+c.X, y+c.Y)
	}
	return b.String() + "Z"
}

// legend names the lines below the panel.
func (d drawing) legend() {
	const column = (panelWidth - marginLeft - marginRight) / legendColumns
	entry := func(n int) (x, y float64) {
		return marginLeft + float64(n%legendColumns)*column, panelHeight + float64(n/legendColumns)*legendRow + 8
	}
	n := 0
	for i, l := range d.p.drawn() {
		if len(l.Points) == 0 {
			continue
		}
		x, y := entry(n)
		n++
		d.stroke(i, fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x, y, x+24, y), marker(i, x+12, y))
		d.text(x+30, y+4, "start", l.Name)
	}
	if d.p.Level != nil {
		x, y := entry(n)
		d.rule(x, y, x+24, y, ink, "6 4")
		d.text(x+30, y+4, "start", d.p.Level.Name)
	}
}
