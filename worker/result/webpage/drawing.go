package webpage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A Drawing is a timeline as SVG: lanes below each other, with boxes.
type Drawing struct {
	Title         string
	Width, Height int
	Labels        []Label
	Rules         []Rule
	Boxes         []Box
	Legend        []Key
	Unseen        bool // the title is that of the section
}

// A Label is a text at a place, in pixels.
type Label struct {
	X, Y  int
	Text  string
	Class string
}

// A Rule is a straight line.
type Rule struct {
	X1, Y1, X2, Y2 int
	Class          string
}

// A Box is a rectangle with a tooltip.
type Box struct {
	X, Y, Width, Height float64
	Class, Tip          string
}

// A Key says what a color stands for.
type Key struct{ Class, Text string }

// A Lane is a row of a timeline.
type Lane struct {
	Name   string
	Slices []Slice
}

// A Slice is something that took from Begin to End, in any unit.
type Slice struct {
	Begin, End float64
	Kind       string // slices of a kind have a color
	Tip        string
	Side       bool // the slice is one of the two that a link joins
}

// The measures of a timeline, in pixels.
const (
	laneHeight  = 20
	laneLabel   = 200 // width
	laneWidth   = 900
	laneTop     = 12
	axisHeight  = 30
	unitWidth   = 60
	leastSlice  = 0.5
	mostLanes   = 120
	mostSlices  = 6000
	ticks       = 5
	paletteSize = 8
)

// Timeline draws lanes over a common axis with a unit; the empty unit has no axis.
func Timeline(title, unit string, lanes []Lane) Drawing {
	shown, _ := readable(lanes)
	return timelineOf(title, unit, lanes, frameOf(shown))
}

// A frame is what several timelines share: from where to where they go, and kinds of slices, which have their colors.
type frame struct {
	begin, end float64
	kinds      []string
}

func frameOf(lanes []Lane) (f frame) {
	f.begin, f.end = span(lanes)
	for _, lane := range lanes {
		for _, s := range lane.Slices {
			if !slices.Contains(f.kinds, s.Kind) {
				f.kinds = append(f.kinds, s.Kind)
			}
		}
	}
	return f
}

func timelineOf(title, unit string, lanes []Lane, f frame) Drawing {
	var more string
	if lanes, more = readable(lanes); more != "" {
		title += " (" + more + ")"
	}
	begin, end, kinds := f.begin, f.end, f.kinds
	scale := laneWidth / max(end-begin, 1e-9)
	d := Drawing{Title: title, Width: laneLabel + laneWidth + 20, Height: laneTop + laneHeight*len(lanes)}
	var sides [][2]int
	for i, lane := range lanes {
		y := laneTop + laneHeight*i
		d.Labels = append(d.Labels, Label{0, y + 14, lane.Name, ""})
		d.Rules = append(d.Rules, Rule{laneLabel, y + laneHeight - 1, laneLabel + laneWidth, y + laneHeight - 1, ""})
		for _, s := range lane.Slices {
			x := laneLabel + (s.Begin-begin)*scale
			b := Box{x, float64(y + 3), max(leastSlice, (s.End-s.Begin)*scale), laneHeight - 6, class(kinds, s.Kind), s.Tip}
			if s.Side {
				b.Class += " side"
				sides = append(sides, [2]int{int(x + b.Width/2), y + laneHeight/2})
			}
			d.Boxes = append(d.Boxes, b)
		}
	}
	if len(sides) == 2 {
		d.Rules = append(d.Rules, Rule{sides[0][0], sides[0][1], sides[1][0], sides[1][1], "link"})
	}
	own := frameOf(lanes)
	for _, kind := range kinds {
		if slices.Contains(own.kinds, kind) {
			d.Legend = append(d.Legend, Key{class(kinds, kind), kind})
		}
	}
	if unit != "" {
		d.axis(begin, end, unit)
	}
	return d
}

func class(kinds []string, kind string) string {
	return fmt.Sprintf("k%d", slices.Index(kinds, kind)%paletteSize)
}

// readable keeps as many lanes as a page can bear, the first ones.
func readable(lanes []Lane) ([]Lane, string) {
	count := 0
	for i, lane := range lanes {
		count += len(lane.Slices)
		if i == mostLanes || count > mostSlices {
			return lanes[:i], fmt.Sprintf("the first %d of %d lanes", i, len(lanes))
		}
	}
	return lanes, ""
}

func span(lanes []Lane) (begin, end float64) {
	first := true
	for _, lane := range lanes {
		for _, s := range lane.Slices {
			if first {
				begin, end, first = s.Begin, s.End, false
			}
			begin, end = min(begin, s.Begin), max(end, s.End)
		}
	}
	return begin, end
}

// axis writes round numbers below the lanes, and the unit at the end.
func (d *Drawing) axis(begin, end float64, unit string) {
	y := d.Height + 18
	d.Height += axisHeight
	step := roundStep((end - begin) / ticks)
	decimals := max(0, -int(math.Floor(math.Log10(step))))
	for n := 0.0; n <= 2*ticks; n++ {
		v := (math.Ceil(begin/step) + n) * step
		x := laneWidth * (v - begin) / max(end-begin, step)
		if x > laneWidth-unitWidth {
			break
		}
		d.Labels = append(d.Labels, Label{laneLabel + int(x), y, strconv.FormatFloat(v, 'f', decimals, 64), "faint"})
	}
	d.Labels = append(d.Labels, Label{laneLabel + laneWidth, y, unit, "faint end"})
}

// roundStep is the least of 1, 2 and 5, times a power of ten, that is not below a number.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(least, 1e-9))))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= least {
			return digit * power
		}
	}
	return 10 * power
}
