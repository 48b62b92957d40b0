// Package plot draws lines over logarithmic axes: as SVG for pages, and in braille
// for terminals. The same input gives the same bytes.
package plot

// Panel is one diagram. It leaves out points with a coordinate that is not positive, or
// not between 1e-150 and 1e150.
type Panel struct {
	Title          string
	XLabel, YLabel string // with units
	// XTick writes a value of the horizontal axis, whose ticks are powers of 2.
	XTick func(x float64) string
	// Lines get their colors and letters by their index. A line without points keeps its
	// index, and is left out of the legend.
	Lines []Line
	// Level is a horizontal line, such as an upper bound; nil: none.
	Level *Level
}

// Line joins points, from left to right.
type Line struct {
	Name   string
	Points []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Level is a horizontal line.
type Level struct {
	Name string
	Y    float64
}

// Empty reports whether there is nothing to draw.
func (p Panel) Empty() bool {
	for _, l := range p.drawn() {
		if len(l.Points) > 0 {
			return false
		}
	}
	return true
}

// drawn are the lines without the points that are left out.
func (p Panel) drawn() []Line {
	var lines []Line
	for _, l := range p.Lines {
		line := Line{Name: l.Name}
		for _, at := range l.Points {
			if drawable(at.X) && drawable(at.Y) {
				line.Points = append(line.Points, at)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// drawable reports whether a value can be on an axis, with room around it.
func drawable(v float64) bool { return v >= 1e-150 && v <= 1e150 }

// axes include all that is drawn.
func (p Panel) axes() (x, y axis) {
	for _, l := range p.drawn() {
		for _, at := range l.Points {
			x.include(at.X)
			y.include(at.Y)
		}
	}
	if p.Level != nil && drawable(p.Level.Y) {
		y.include(p.Level.Y)
	}
	x.widen(2)
	y.widen(1.25)
	return x, y
}
