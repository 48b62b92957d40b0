package plot

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// A text panel is at least so wide and so high, in characters. The height is that of
// the canvas between the axes.
const (
	MinTextWidth  = 40
	MinTextHeight = 6
)

// yTickWidth is the room for ticks beside the vertical axis.
const yTickWidth = 8

// Text draws a panel in characters, at most width wide, with a canvas of that many
// lines. Points are letters, and braille dots join them: lines can be told apart
// without colors. Where points of several lines coincide there is an asterisk.
func Text(w io.Writer, p Panel, width, height int) error {
	width, height = max(width, MinTextWidth), max(height, MinTextHeight)
	var b strings.Builder
	if title := p.Title + ": " + p.YLabel; utf8.RuneCountInString(title) <= width {
		fmt.Fprintln(&b, title)
	} else {
		fmt.Fprintf(&b, "%s:\n%s\n", clip(p.Title, width-1), clip(p.YLabel, width))
	}
	if p.Empty() {
		b.WriteString("  nothing to draw\n")
	} else {
		c := newCanvas(width-yTickWidth-2, height)
		x, y := p.axes()
		c.draw(p, x, y)
		c.write(&b, y)
		b.WriteString(c.xTicks(x, p.XTick))
		fmt.Fprintf(&b, "%*s%s\n", yTickWidth+2, "", centered(p.XLabel, c.columns))
		writeLegend(&b, p, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// canvas is the area between the axes: cells with 2 by 4 braille dots each, or with
// a character instead.
type canvas struct {
	columns, rows int
	dots          [][]rune
	letters       [][]rune // 0: none
}

func newCanvas(columns, rows int) canvas {
	c := canvas{columns: columns, rows: rows}
	for range rows {
		c.dots = append(c.dots, make([]rune, columns))
		c.letters = append(c.letters, make([]rune, columns))
	}
	return c
}

func (c canvas) draw(p Panel, x, y axis) {
	if l := p.Level; l != nil && drawable(l.Y) {
		_, row := c.cell(0, y.at(l.Y))
		for column := range c.columns {
			c.letters[row][column] = '╌'
		}
	}
	for i, line := range p.drawn() {
		for n, at := range line.Points {
			if n > 0 {
				before := line.Points[n-1]
				c.join(x.at(before.X), y.at(before.Y), x.at(at.X), y.at(at.Y))
			}
		}
		for _, at := range line.Points {
			column, row := c.cell(x.at(at.X), y.at(at.Y))
			c.mark(column, row, letter(i))
		}
	}
}

// letter is the marker of the i-th line.
func letter(i int) rune { return 'A' + rune(i%26) }

func (c canvas) mark(column, row int, letter rune) {
	switch have := c.letters[row][column]; have {
	case 0, '╌', letter:
		c.letters[row][column] = letter
	default:
		c.letters[row][column] = '*'
	}
}

// cell is the cell of a point, whose position on both axes is from 0 to 1.
func (c canvas) cell(x, y float64) (column, row int) {
	column = int(math.Round(x * float64(c.columns-1)))
	row = c.rows - 1 - int(math.Round(y*float64(c.rows-1)))
	return min(max(column, 0), c.columns-1), min(max(row, 0), c.rows-1)
}

// join sets the dots between the middles of two points' cells.
func (c canvas) join(x1, y1, x2, y2 float64) {
	c1, r1 := c.cell(x1, y1)
	c2, r2 := c.cell(x2, y2)
	fromX, fromY, toX, toY := 2*c1+1, 4*r1+2, 2*c2+1, 4*r2+2
	steps := max(abs(toX-fromX), abs(toY-fromY), 1)
	for s := range steps + 1 {
		part := float64(s) / float64(steps)
		c.dot(fromX+int(math.Round(part*float64(toX-fromX))), fromY+int(math.Round(part*float64(toY-fromY))))
	}
}

func abs(n int) int { return max(n, -n) }

// dot sets a dot. The bits of a cell are those of Unicode 16.0, chapter 21, Braille
// Patterns.
func (c canvas) dot(x, y int) {
	bit := [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	c.dots[y/4][x/2] |= bit[y%4][x%2]
}

// write writes the lines of the canvas with the ticks of the vertical axis.
func (c canvas) write(b *strings.Builder, y axis) {
	ticks := map[int]string{}
	for _, v := range y.decades(c.rows/2 + 1) {
		_, row := c.cell(0, y.at(v))
		ticks[row] = decimal(v)
	}
	for row := range c.rows {
		edge := "│"
		if ticks[row] != "" {
			edge = "┤"
		}
		var line strings.Builder
		for column := range c.columns {
			line.WriteRune(c.at(column, row))
		}
		text := fmt.Sprintf("%*s %s%s", yTickWidth, ticks[row], edge, line.String())
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func (c canvas) at(column, row int) rune {
	const braille = 0x2800
	switch letter, dots := c.letters[row][column], c.dots[row][column]; {
	case letter != 0 && (letter != '╌' || dots == 0):
		return letter
	case dots != 0:
		return braille + dots
	}
	return ' '
}

// xTicks is the horizontal axis with as many ticks as have room.
func (c canvas) xTicks(x axis, tick func(float64) string) string {
	edge, labels := []rune(strings.Repeat("─", c.columns)), []rune(strings.Repeat(" ", c.columns))
	free := 0
	for _, v := range x.powersOf2(c.columns / 8) {
		text := []rune(tick(v))
		column, _ := c.cell(x.at(v), 0)
		begin := min(max(column-len(text)/2, 0), c.columns-len(text))
		if begin < free {
			continue
		}
		edge[column] = '┬'
		copy(labels[begin:], text)
		free = begin + len(text) + 1
	}
	indent := strings.Repeat(" ", yTickWidth+1)
	return indent + "└" + string(edge) + "\n" + indent + " " + strings.TrimRight(string(labels), " ") + "\n"
}

// writeLegend names the letters, in as many lines as it takes.
func writeLegend(b *strings.Builder, p Panel, width int) {
	var entries []string
	for i, l := range p.drawn() {
		if len(l.Points) > 0 {
			entries = append(entries, string(letter(i))+" "+l.Name)
		}
	}
	if p.Level != nil {
		entries = append(entries, "╌ "+p.Level.Name)
	}
	line := "  "
	for _, e := range entries {
		if utf8.RuneCountInString(line)+len(e)+3 > width && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = "  "
		}
		line += clip(e, width-2) + "   "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func centered(text string, width int) string {
	return strings.Repeat(" ", max(0, (width-utf8.RuneCountInString(text))/2)) + clip(text, width)
}

// clip cuts text to a width.
func clip(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width])
	}
	return text
}
