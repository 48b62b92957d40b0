package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gpurun/worker/process/dump"
)

// alike are ranks that do the same: they stand at the same lines, and the kernel says the same of them.
type alike struct {
	ranks []rank
	stack []dump.Frame // folded
	lines [][]int      // of each frame; more than one where ranks were merged that differ in lines alone
}

// likenesses sorts the ranks into groups of those that do the same, the smallest first. If there are more groups than
// most, those that differ in lines alone are merged: ranks that run rarely stand at the same line.
func (j job) likenesses(most int) []alike {
	function := func(f dump.Frame) string { return shortFile(f.File) + ":" + f.Function }
	groups := j.alike(func(f dump.Frame) string { return fmt.Sprintf("%s:%d", function(f), f.Line) })
	if len(groups) > most {
		groups = j.alike(function)
	}
	slices.SortStableFunc(groups, func(a, b alike) int { return cmp.Compare(len(a.ranks), len(b.ranks)) })
	return groups
}

func (j job) alike(key func(dump.Frame) string) (groups []alike) {
	index := map[string]int{}
	for _, r := range j.ranks {
		stack := fold(r.thread.Python)
		var b strings.Builder
		b.WriteString(r.Exit + "\x00")
		if len(stack) == 0 {
			b.WriteString(r.program() + "\x00" + r.thread.Wait + strings.Join(r.thread.Kernel, " "))
		}
		if s := r.state(); s != "S" && s != "R" { // a thread that waits for the interpreter's lock runs now and then
			b.WriteString(s)
		}
		for _, f := range stack {
			b.WriteString("\x00" + key(f))
		}
		i, ok := index[b.String()]
		if !ok {
			i = len(groups)
			index[b.String()] = i
			groups = append(groups, alike{stack: stack, lines: make([][]int, len(stack))})
		}
		groups[i].ranks = append(groups[i].ranks, r)
		for n, f := range stack {
			groups[i].lines[n] = append(groups[i].lines[n], f.Line)
		}
	}
	return groups
}

// program is the name of the rank's program.
func (r rank) program() string {
	if r.process == nil {
		return ""
	}
	name, _, _ := strings.Cut(r.process.Command, " ")
	return path.Base(name)
}

// title is the line above a stack: which ranks, where they run, and what they do.
func (g alike) title() string {
	numbers := numbersOf(g.ranks)
	first := g.ranks[0]
	var hosts, places []string
	for _, r := range g.ranks {
		hosts, places = append(hosts, r.Host), append(places, r.where)
	}
	first.where = some(places, 3)
	where := some(hosts, 3)
	if len(numbers) == 1 {
		where += fmt.Sprintf(", pid %d", first.PID)
	} else {
		where = fmt.Sprintf("%d on %s", len(numbers), where)
	}
	parts := []string{fmt.Sprintf("%s (%s): %s", named(numbers), where, first.doing(len(numbers) > 1))}
	if silent := silence(g.ranks); silent != "" {
		parts = append(parts, silent)
	}
	return strings.Join(parts, ", ")
}

// doing says what a rank does, or several that do the same.
func (r rank) doing(several bool) string {
	switch {
	case r.Exit != "":
		return r.Exit
	case r.process == nil:
		return "nothing was collected"
	case r.state() == "T", r.state() == "t":
		return "stopped (state " + r.state() + ")"
	case r.state() == "D":
		return "uninterruptible in the kernel (state D" + kernelWait(r) + ")"
	case r.kind == noPython || r.kind == unknown:
		text := r.program() + ", state " + r.state()
		if r.thread.Wait != "" {
			text += " in " + r.thread.Wait
		}
		return text
	}
	return r.verb(several)
}

// silence says how long ranks have written nothing.
func silence(ranks []rank) string {
	shortest, longest := time.Duration(-1), time.Duration(0)
	for _, r := range ranks {
		if r.Output.IsZero() || r.Time.IsZero() || r.Exit != "" {
			return ""
		}
		silent := r.Time.Sub(r.Output)
		if shortest < 0 || silent < shortest {
			shortest = silent
		}
		longest = max(longest, silent)
	}
	switch {
	case shortest < time.Second:
		return ""
	case seconds(shortest) == seconds(longest):
		return "no output for " + seconds(longest)
	}
	return fmt.Sprintf("no output for %s to %s", seconds(shortest), seconds(longest))
}

func (j job) silence() string { return silence(j.ranks) }
