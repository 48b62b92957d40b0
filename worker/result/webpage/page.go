// Package webpage writes results as one page for a browser: the verdict, plots, tables and drawings. The page needs no
// network and nothing but itself, and its policy for content allows no script but the page's own.
//
// A [Document] is one result: of a run, a comparison, a diagnosis or a check. [Write] writes one or several as a page.
// [Run], [Comparison] and [Trace] make documents of what package result knows; others make their own.
//
// The files:
//
//	page      what a page consists of
//	write     the page: template, style, script, policy
//	run       a report of a run, smoke, tune or bench
//	plots     its plots, by size
//	tables    its tables
//	compare   a comparison of two runs
//	trace     a timeline in the form of Chrome's trace events
//	drawing   timelines as SVG
//	assets    the template, the style, the script, and uPlot, which draws plots
package webpage

// Status says how bad something is.
type Status string

// The statuses. The empty one says nothing.
const (
	Pass Status = "pass"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Word is the status in a badge.
func (s Status) Word() string {
	switch s {
	case Pass:
		return "PASS"
	case Warn:
		return "WARN"
	case Fail:
		return "FAIL"
	}
	return ""
}

// A Document is one result on a page.
type Document struct {
	Title    string // such as the command
	Source   string // the file that the result was read from; may be empty
	Status   Status
	Verdict  string   // a sentence
	Reasons  []string // of a status that is not Pass
	Sections []Section
	Facts    []Fact // machine and command, which stand at the end
}

// A Fact is a line of the table at the end of a document.
type Fact struct {
	Name, Value string
	Code        bool // the value is something to type
}

// A Section is a part of a document. What it lacks is left out.
type Section struct {
	Title    string
	Status   Status
	Notes    []string
	Text     []string // lines in a fixed width
	Plots    []Plot
	Drawings []Drawing
	Tables   []Table
}

// A Plot is a diagram of lines. Both axes begin logarithmic; the reader may change that.
type Plot struct {
	Title  string   `json:"title"`
	XLabel string   `json:"x"`
	YLabel string   `json:"y"`
	Bytes  bool     `json:"bytes"` // x counts bytes
	Lines  []Line   `json:"lines"`
	Levels []Level  `json:"levels"` // horizontal lines, such as thresholds
	Hidden []string `json:"hidden"` // names of lines that are not shown at first
}

// A Line joins points (x, y), by growing x.
type Line struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
}

// A Level is a horizontal line.
type Level struct {
	Name string  `json:"name"`
	Y    float64 `json:"y"`
}

// A Table has a head and rows of as many cells.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
	Heat    bool // the cells' shades show their numbers
	Unseen  bool // the caption is the title of the section
	Cut     int  // rows that were left out, since a page has a size that a browser can bear
}

// A Column is a column of a table.
type Column struct {
	Title   string
	Numeric bool // it is aligned and sorted by numbers
}

// A Cell is a text, and what it is sorted by where its column is numeric.
type Cell struct {
	Text   string
	Number float64
	Status Status
	Shade  int // 1 to 9 of a heat map; 0: none
}

// Long reports whether the text needs several lines.
func (c Cell) Long() bool { return len(c.Text) > 50 }

// Cut keeps at most that many rows.
func (t Table) cut(most int) Table {
	if more := len(t.Rows) - most; more > 0 {
		t.Rows, t.Cut = t.Rows[:most], more
	}
	return t
}
