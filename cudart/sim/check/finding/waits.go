package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Wait is who cannot go on in a deadlock: lanes of a warp, or the host code of a rank.
type Wait struct {
	Access
	For string // the word, barrier or event that it waits for, such as "rank 0's signal pad at +0x40"
	// Value is what the word holds, and Test how the code compares it, such as "value - 6 > -1"; "" if that cannot be
	// told.
	Value, Test string
	// Writers have written the word before, in this launch or an earlier one.
	Writers []Access
	// On are the waits, by index, whose end it waits for. It is empty where nobody who still runs can end it.
	On []int
	// Barrier says that it waits at a barrier of its block.
	Barrier bool
}

// WaitValue is the text of a wait by a stream.
const WaitValue = "WaitValue"

// Name is who waits, in short.
func (w *Wait) Name() string {
	if w.Kernel == "" {
		return fmt.Sprintf("rank %d's %s", w.Rank, w.Command)
	}
	return fmt.Sprintf("rank %d block %d warp %d", w.Rank, w.Block, w.Warp)
}

// String is a wait as a line: who, where, and for what.
func (w *Wait) String() string {
	text := fmt.Sprintf("%s waits at %s, %s, for %s", w.Name(), w.Place(), w.Opcode(), w.For)
	switch {
	case w.Kernel == "" && w.Text != WaitValue:
		return w.Name() + " waits: " + w.For
	case w.Kernel == "":
		text = fmt.Sprintf("%s waits by WaitValue for %s", w.Name(), w.For)
	}
	return strings.TrimSuffix(text, w.For) + w.what()
}

// what is the word or the thing that a wait waits for, with its value.
func (w *Wait) what() string {
	text := w.For
	if w.Value != "" {
		text += ", which is " + w.Value
	}
	if w.Test != "" {
		text += fmt.Sprintf(" (tested: %s)", w.Test)
	}
	return text
}

// waitsText is a finding with its graph, in at most twelve lines: why nothing can go on, then the groups of waits for
// words, and who could end them. JSON has all waits.
func (f *Finding) waitsText() string {
	const mostGroups = 4
	var b strings.Builder
	b.WriteString(f.Headline() + "\n")
	for _, line := range f.Reasons() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	groups := f.groups()
	for i, g := range groups {
		if i == mostGroups {
			fmt.Fprintf(&b, "  and %d more\n", len(groups)-mostGroups)
			break
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", g.text(), f.endersText(g.waits[0]))
	}
	return b.String()
}

// endersText says who has written what a wait reads, and who could end it.
func (f *Finding) endersText(w *Wait) string {
	const most = 2
	var written []string
	for i, by := range w.Writers {
		if i < most {
			written = append(written, fmt.Sprintf("%s at %s", by.Who(), by.Place()))
		}
	}
	text := ""
	if len(written) > 0 {
		text = "written by " + strings.Join(written, " and ") + "; "
	}
	if len(w.On) == 0 {
		return text + "nobody who still runs can end this wait"
	}
	var names []string
	for _, i := range w.On {
		if name := f.Waits[i].Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return text + "could be ended by " + strings.Join(names, ", ")
}

// waitGroup are waits of one rank at one line, for words of one buffer or for the same thing.
type waitGroup struct {
	waits []*Wait
	key   string
}

// groups are the waits by rank, line and buffer. Those for words are first, and those of host code last.
func (f *Finding) groups() (all []waitGroup) {
	for i := range f.Waits {
		w := &f.Waits[i]
		buffer, _, _ := strings.Cut(w.For, " at +")
		if w.Barrier {
			buffer = "barrier"
		}
		key := fmt.Sprint(w.Rank, w.Kernel, w.Place(), w.Opcode(), buffer)
		at := slices.IndexFunc(all, func(g waitGroup) bool { return g.key == key })
		if at < 0 {
			all = append(all, waitGroup{[]*Wait{w}, key})
		} else {
			all[at].waits = append(all[at].waits, w)
		}
	}
	place := func(g waitGroup) int {
		switch w := g.waits[0]; {
		case w.Value != "":
			return 0
		case w.Kernel != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b waitGroup) int { return place(a) - place(b) })
	return all
}

// text is a group as a line: how many warps of which blocks wait, where, and for what.
func (g *waitGroup) text() string {
	w := g.waits[0]
	if len(g.waits) == 1 || w.Kernel == "" {
		return w.String()
	}
	type warp struct{ block, warp int }
	warps, first, last := map[warp]bool{}, w.Block, w.Block
	for _, o := range g.waits {
		warps[warp{o.Block, o.Warp}] = true
		first, last = min(first, o.Block), max(last, o.Block)
	}
	blocks := fmt.Sprintf("block %d", first)
	if last > first {
		blocks = fmt.Sprintf("blocks %d-%d", first, last)
	}
	who := fmt.Sprintf("%d warps", len(warps))
	if len(warps) == 1 {
		who = "a warp"
	}
	verb := "wait"
	if len(warps) == 1 {
		verb = "waits"
	}
	text := fmt.Sprintf("rank %d: %s of %s %s at %s, %s, for ", w.Rank, who, blocks, verb, w.Place(), w.Opcode())
	if w.Value == "" {
		return text + w.For
	}
	return text + fmt.Sprintf("%d words, the first one %s", len(g.waits), w.what())
}
