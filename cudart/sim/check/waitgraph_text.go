package check

import (
	"fmt"
	"slices"
	"strings"
)

// name is who waits, in short.
func (w *Wait) name() string {
	if w.Kernel == "" {
		return fmt.Sprintf("rank %d's %s", w.Rank, w.Command)
	}
	return fmt.Sprintf("rank %d block %d warp %d", w.Rank, w.Block, w.Warp)
}

// String is a wait as a line: who, where, and for what.
func (w *Wait) String() string {
	text := fmt.Sprintf("%s waits at %s, %s, for %s", w.name(), w.Place(), w.Opcode(), w.For)
	switch {
	case w.Kernel == "" && w.addr == 0:
		return w.name() + " waits: " + w.For
	case w.Kernel == "":
		text = fmt.Sprintf("%s waits by WaitValue for %s", w.name(), w.For)
	}
	if w.Value != "" {
		text += ", which is " + w.Value
	}
	if w.Test != "" {
		text += fmt.Sprintf(" (tested: %s)", w.Test)
	}
	return text
}

// lines are the first waits, for an error.
func (g *waitGraph) lines() []string {
	const most = 6
	var all []string
	for i := range g.waits {
		if len(all) == most {
			return append(all, fmt.Sprintf("and %d more", len(g.waits)-most))
		}
		all = append(all, g.waits[i].String())
	}
	return all
}

// waitsText is a finding with its graph: a line for each wait, and who could end it.
func (f *Finding) waitsText() string {
	const most = 24
	var b strings.Builder
	b.WriteString(f.Headline() + "\n")
	waits, more := f.groups()
	for i, w := range waits {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(waits)-most)
			break
		}
		fmt.Fprintf(&b, "  %v\n", w)
		if more[i] > 1 {
			fmt.Fprintf(&b, "    and so do %d more of its block\n", more[i]-1)
		}
		for _, writer := range w.Writers {
			fmt.Fprintf(&b, "    written by %s at %s, %s\n", writer.Who(), writer.Place(), writer.Opcode())
		}
		fmt.Fprintf(&b, "    %s\n", f.endersText(w))
	}
	for _, line := range f.Reasons() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// endersText says who could end a wait.
func (f *Finding) endersText(w *Wait) string {
	const most = 4
	if len(w.On) == 0 {
		return "nobody who still runs can end this wait"
	}
	var names []string
	for _, i := range w.On {
		if name := f.Waits[i].name(); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return "could be ended by " + strings.Join(names, ", ")
}

// groups are the waits of which the others differ in the warp alone, with their number.
func (f *Finding) groups() (first []*Wait, warps []int) {
	for i := range f.Waits {
		w := &f.Waits[i]
		at := slices.IndexFunc(first, func(o *Wait) bool {
			same := o.Rank == w.Rank && o.Kernel == w.Kernel && o.Block == w.Block && o.Line == w.Line && o.For == w.For
			return same && w.Kernel != ""
		})
		if at < 0 {
			first, warps = append(first, w), append(warps, 1)
		} else {
			warps[at]++
		}
	}
	return first, warps
}
