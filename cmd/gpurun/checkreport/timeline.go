package checkreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Event is something that a side did, in a timeline.
type Event struct {
	Side
	Where   string `json:"where"`
	Acquire bool   `json:"acquire,omitempty"`
	Release bool   `json:"release,omitempty"`
	Barrier bool   `json:"barrier,omitempty"`
}

// The picture's measures, in pixels.
const (
	laneHeight, eventWidth = 26, 22
	left, top, bottom      = 190, 60, 90
	least                  = 640 // width
)

// WriteTimeline draws the last events of the ranks around a finding: a lane for each warp or stream, from left to right
// in the order of the events. The sides of the finding are joined by a line. Each event has a tooltip.
func WriteTimeline(w io.Writer, f Finding, events []Event) error {
	var lanes []string
	for _, e := range events {
		if !slices.Contains(lanes, e.Who()) {
			lanes = append(lanes, e.Who())
		}
	}
	slices.Sort(lanes)
	width, height := max(left+eventWidth*(len(events)+2), least), top+laneHeight*len(lanes)+bottom
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="10" y="24" font-size="14">%s</text>`+"\n", escaped(f.Message()))
	for i, lane := range lanes {
		y := top + laneHeight*i
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text><line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ccc"/>`+"\n", y+4,
			escaped(lane), left, y, width-10, y)
	}
	at := func(i int) (x, y int) {
		return left + eventWidth*(i+1), top + laneHeight*slices.Index(lanes, events[i].Who())
	}
	if first, second, ok := f.among(events); ok {
		x1, y1 := at(first)
		x2, y2 := at(second)
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#c00" stroke-width="2" stroke-dasharray="5 3"/>`+"\n",
			x1, y1, x2, y2)
	}
	for i, e := range events {
		x, y := at(i)
		b.WriteString(e.mark(x, y))
	}
	b.WriteString(legend(top + laneHeight*len(lanes) + 20))
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// among are the places of the two sides of a race among the events. The events are those of a run that may show the
// finding at other warps than the first run did: what matches best is taken, and of equals the last.
func (f Finding) among(events []Event) (first, second int, ok bool) {
	if len(f.Sides) != 2 {
		return 0, 0, false
	}
	best := 0
	for i, a := range events {
		for j, b := range events {
			if i == j || !f.Sides[0].sameLine(a.Side) || !f.Sides[1].sameLine(b.Side) {
				continue
			}
			match := 1
			if a.Where != "" && a.Where == b.Where {
				match = 2
			}
			if a.Who() == f.Sides[0].Who() && b.Who() == f.Sides[1].Who() {
				match += 2
			}
			if match >= best {
				best, first, second = match, i, j
			}
		}
	}
	return first, second, best > 0
}

// sameLine reports whether a rank executed the same instruction.
func (s Side) sameLine(other Side) bool {
	return s.Rank == other.Rank && s.Module == other.Module && s.Line == other.Line && s.Instruction == other.Instruction
}

// The colors of events.
const (
	readColor, writeColor, updateColor, orderColor = "#2a6fbb", "#c0392b", "#8e44ad", "#555"
)

// mark draws an event: a circle, a triangle to the right for a release and to the left for an acquire, or a bar.
func (e Event) mark(x, y int) string {
	color := map[string]string{"reads": readColor, "writes": writeColor, "updates": updateColor}[e.Action]
	if color == "" {
		color = orderColor
	}
	shape := fmt.Sprintf(`<circle cx="%d" cy="%d" r="6" fill="%s">`, x, y, color)
	end := "</circle>"
	switch {
	case e.Barrier:
		shape, end = fmt.Sprintf(`<rect x="%d" y="%d" width="4" height="18" fill="%s">`, x-2, y-9, orderColor), "</rect>"
	case e.Release:
		shape, end = triangle(x, y, 8, color), "</path>"
	case e.Acquire:
		shape, end = triangle(x, y, -8, color), "</path>"
	}
	if e.Kernel == "" && e.Command == "" { // of the legend
		return shape + end + "\n"
	}
	file, line := e.Place()
	text := fmt.Sprintf("%s %s %s", e.Who(), e.Action, e.Instruction)
	if file != "" {
		text += fmt.Sprintf(", %s:%d", file, line)
	}
	if e.Where != "" {
		text += ", " + e.Where
	}
	return shape + "<title>" + escaped(text) + "</title>" + end + "\n"
}

func triangle(x, y, size int, color string) string {
	return fmt.Sprintf(`<path d="M %d %d L %d %d L %d %d Z" fill="%s">`, x+size, y, x-size, y-8, x-size, y+8, color)
}

// legend explains the marks.
func legend(y int) string {
	var b strings.Builder
	x := left
	for _, e := range []struct {
		Event
		text string
	}{
		{Event{Side: Side{Action: "reads"}}, "read"},
		{Event{Side: Side{Action: "writes"}}, "write"},
		{Event{Side: Side{Action: "updates"}}, "atomic"},
		{Event{Side: Side{Action: "writes"}, Release: true}, "release"},
		{Event{Side: Side{Action: "reads"}, Acquire: true}, "acquire"},
		{Event{Barrier: true}, "barrier"},
	} {
		b.WriteString(e.mark(x, y))
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", x+12, y+4, e.text)
		x += 75
	}
	return b.String()
}

// escaped is text for XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
