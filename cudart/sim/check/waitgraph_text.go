package check

import (
	"fmt"
	"strings"
)

// name is who waits, in short.
func (w *Wait) name() string {
	if w.Kernel == "" {
		return fmt.Sprintf("rank %d's host code", w.Rank)
	}
	return fmt.Sprintf("rank %d block %d warp %d", w.Rank, w.Block, w.Warp)
}

// String is a wait as a line: who, where, and for what.
func (w *Wait) String() string {
	if w.Kernel == "" {
		return w.name() + " waits: " + w.For
	}
	text := fmt.Sprintf("%s waits for %s", w.Access.place(), w.For)
	if w.Value != "" {
		text += ", which is " + w.Value
	}
	if w.Test != "" {
		text += fmt.Sprintf(" (tested: %s)", w.Test)
	}
	return text
}

// place is an access without what it does.
func (a Access) place() string {
	at := fmt.Sprintf("%s:%d", a.Module, a.Line)
	if a.Source != "" {
		at = fmt.Sprintf("%s (%s)", a.Source, at)
	}
	return fmt.Sprintf("rank %d block %d warp %d at %s, %s,", a.Rank, a.Block, a.Warp, at, a.Text)
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

// deadlockText is a finding with its graph: a line for each wait, and who could end it.
func (f *Finding) deadlockText() string {
	const most = 24
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", strings.ToUpper(string(f.Kind)), f.Cause)
	for i := range f.Waits {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(f.Waits)-most)
			break
		}
		w := &f.Waits[i]
		fmt.Fprintf(&b, "  %v\n", w)
		for _, writer := range w.Writers {
			fmt.Fprintf(&b, "    written by %v\n", writer)
		}
		fmt.Fprintf(&b, "    %s\n", f.endersText(w))
	}
	if f.Advice != "" {
		fmt.Fprintf(&b, "  %s\n", f.Advice)
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
