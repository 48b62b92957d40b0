package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The threads of a rank: the stream of the copies from its peers, the stream of the copy
// of its own shard, and from blockThread on the blocks.
const (
	copyThread = iota
	ownThread
	blockThread
)

// micros are nanoseconds, written as the format's microseconds.
type micros int64

// MarshalJSON writes as few digits as are exact.
func (m micros) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/1e3, 'f', -1, 64), nil
}

// slice is a complete event. Perfetto chooses colors by name: all slices of a shard have
// the same color.
type slice struct {
	Name     string         `json:"name"`
	Category string         `json:"cat"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Start    micros         `json:"ts"`
	Duration micros         `json:"dur"`
	Args     map[string]any `json:"args,omitempty"`
}

// label is a metadata event: the name or the sort index of a process or a thread.
type label struct {
	Name    string         `json:"name"`
	Phase   string         `json:"ph"`
	Process int            `json:"pid"`
	Thread  int            `json:"tid"`
	Args    map[string]any `json:"args"`
}

// Write writes a timeline as JSON, an event a line.
func Write(w io.Writer, t Timeline) error {
	if err := t.Check(); err != nil {
		return err
	}
	out := writer{to: bufio.NewWriter(w), separator: "\n"}
	out.raw(`{"displayTimeUnit":"ns","otherData":`)
	out.json(map[string]string{"title": t.Title, "clocks": t.clocks()})
	out.raw(`,"traceEvents":[`)
	for _, r := range t.Ranks {
		out.rank(r)
	}
	out.raw("\n]}\n")
	if out.err == nil {
		out.err = out.to.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("writing a timeline: %w", out.err)
	}
	return nil
}

// clocks says what the times are of.
func (t Timeline) clocks() string {
	if slices.ContainsFunc(t.Ranks, func(r Rank) bool { return len(r.Steps) > 0 }) {
		return "each rank's times are of events on its stream, between the steps, and count from when it left a barrier of " +
			"all ranks: ranks are aligned within a few us"
	}
	return "each rank's times are of its GPU's %globaltimer, whose steps may be as coarse as 1 us, " +
		"and count from when it left a barrier of all ranks: ranks are aligned within a few us; " +
		"copies are timed by events, from the same barrier on"
}

// writer remembers the first error.
type writer struct {
	to        *bufio.Writer
	separator string // before the next event
	err       error
}

func (w *writer) raw(text string) {
	if w.err == nil {
		_, w.err = w.to.WriteString(text)
	}
}

func (w *writer) json(value any) {
	text, err := json.Marshal(value)
	if w.err == nil {
		w.err = err
	}
	w.raw(string(text))
}

func (w *writer) event(e any) {
	w.raw(w.separator)
	w.json(e)
	w.separator = ",\n"
}

func (w *writer) rank(r Rank) {
	name := fmt.Sprintf("rank %d, %s", r.Rank, r.Device)
	w.event(label{"process_name", "M", r.Rank, 0, map[string]any{"name": name}})
	w.event(label{"process_sort_index", "M", r.Rank, 0, map[string]any{"sort_index": r.Rank}})
	w.copies(r)
	w.tiles(r)
	w.steps(r)
}

// copies writes the copies from the peers, and that of the own shard.
func (w *writer) copies(r Rank) {
	names := [...]string{copyThread: "copies", ownThread: "copy of the own shard"}
	named := [len(names)]bool{}
	for _, c := range r.Copies {
		thread := copyThread
		if c.From == r.Rank {
			thread = ownThread
		}
		if !named[thread] {
			w.thread(r.Rank, thread, names[thread])
			named[thread] = true
		}
		w.slice(r, thread, c.name(), "copy", c.Begin, c.End, map[string]any{"chunk": c.Chunk, "bytes": c.Bytes})
	}
}

// name is that of the shard, or of the products, that are copied.
func (c Copy) name() string {
	if c.From == c.Shard {
		return shard(c.Shard)
	}
	return fmt.Sprintf("products of rank %d", c.From)
}

// tiles writes the waits and the tiles of the blocks. A kernel fetches a tile while it
// computes the one before, but slices of one thread must not overlap. A tile is therefore
// written from the end of the tile before on.
func (w *writer) tiles(r Rank) {
	named, end := copyThread, int64(0)
	for _, t := range r.inOrder() {
		thread := blockThread + t.Block
		if thread != named {
			w.thread(r.Rank, thread, fmt.Sprintf("block %d", t.Block))
			named, end = thread, t.Wait
		}
		wait, begin := max(t.Wait, end), max(t.Begin, end)
		if end = max(t.End, end); wait < begin {
			w.slice(r, thread, "wait", "wait", wait, begin, nil)
		}
		args := map[string]any{"tile": t.Number, "row": t.Row, "column": t.Column}
		if t.Slices > 0 {
			args["slices"] = t.Slices
		}
		w.slice(r, thread, shard(t.Shard), "tile", begin, end, args)
	}
}

func (w *writer) thread(process, thread int, name string) {
	w.event(label{"thread_name", "M", process, thread, map[string]any{"name": name}})
	w.event(label{"thread_sort_index", "M", process, thread, map[string]any{"sort_index": thread}})
}

func (w *writer) slice(r Rank, thread int, name, category string, begin, end int64, args map[string]any) {
	w.event(slice{name, category, "X", r.Rank, thread, micros(begin - r.Met), micros(end - begin), args})
}

func shard(rank int) string { return fmt.Sprintf("shard %d", rank) }
