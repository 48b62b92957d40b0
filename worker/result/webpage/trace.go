package webpage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// traceFile is what package trace writes: Chrome's trace events.
type traceFile struct {
	Other struct {
		Title  string `json:"title"`
		Clocks string `json:"clocks"`
	} `json:"otherData"`
	Events []traceEvent `json:"traceEvents"`
}

type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Start    float64        `json:"ts"`
	Duration float64        `json:"dur"`
	Args     map[string]any `json:"args"`
}

// errNoTrace says that a file has no event.
var errNoTrace = errors.New("the trace has no events")

// Trace is the document of a timeline, of which text is the file that package trace writes.
func Trace(text []byte) (Document, error) {
	var file traceFile
	if err := json.Unmarshal(text, &file); err != nil {
		return Document{}, err
	}
	if len(file.Events) == 0 {
		return Document{}, errNoTrace
	}
	d := Document{Title: file.Other.Title, Verdict: "a timeline of one call"}
	d.Facts = []Fact{{Name: "Clocks", Value: file.Other.Clocks}}
	ranks, order := file.lanes()
	// All ranks have one axis, from their common barrier on, and the same colors: a late rank is seen.
	var all []Lane
	for _, rank := range order {
		all = append(all, ranks[rank.process]...)
	}
	common := frameOf(all)
	common.begin = min(common.begin, 0)
	slices.Sort(common.kinds)
	for _, rank := range order {
		title := "Timeline of " + rank.name
		drawing := timelineOf(title, "us", ranks[rank.process], common)
		d.Sections = append(d.Sections, Section{Title: title, Drawings: []Drawing{drawing}})
	}
	return d, nil
}

// namedProcess is a process of the trace, which is a rank.
type namedProcess struct {
	process int
	name    string
}

// lanes sorts the events into the threads of each process, in the order in which the file names them.
func (f traceFile) lanes() (map[int][]Lane, []namedProcess) {
	all, place := map[int][]Lane{}, map[[2]int]int{}
	var order []namedProcess
	lane := func(e traceEvent) *Lane {
		key := [2]int{e.Process, e.Thread}
		at, ok := place[key]
		if !ok {
			at = len(all[e.Process])
			place[key] = at
			all[e.Process] = append(all[e.Process], Lane{Name: fmt.Sprintf("thread %d", e.Thread)})
		}
		return &all[e.Process][at]
	}
	for _, e := range f.Events {
		name, _ := e.Args["name"].(string)
		switch {
		case e.Phase == "M" && e.Name == "process_name":
			order = append(order, namedProcess{e.Process, name})
		case e.Phase == "M" && e.Name == "thread_name":
			lane(e).Name = name
		case e.Phase == "X":
			l := lane(e)
			l.Slices = append(l.Slices, Slice{Begin: e.Start, End: e.Start + e.Duration, Kind: e.Name, Tip: e.tip()})
		}
	}
	return all, order
}

// tip says what a slice was, and when.
func (e traceEvent) tip() string {
	lines := []string{e.Name, fmt.Sprintf("%.2f us from %.2f us on", e.Duration, e.Start)}
	for _, key := range []string{"tile", "row", "column", "slices", "chunk", "bytes"} {
		if v, ok := e.Args[key]; ok {
			lines = append(lines, fmt.Sprintf("%s %v", key, v))
		}
	}
	return strings.Join(lines, "\n")
}
