package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/worker/process/dump"
)

// group is a process group of PyTorch as the flight recorders know it.
type group struct {
	name    string
	members []int // ranks of the group whose recorder answered
	others  []int // those whose recorder did not, where the group's ranks are known
	bySeq   map[int]map[int64]dump.Collective
}

// groups lists the process groups, in the order in which the ranks named them. Sends and receives are left out: counts
// do not tell which of them belong together.
func (j job) groups() (all []*group) {
	byName := map[string]*group{}
	var answered []int
	ranksOf := map[string][]int{}
	for _, r := range j.ranks {
		if len(r.Collectives) == 0 {
			continue
		}
		answered = append(answered, r.number())
		for _, c := range r.Collectives {
			if c.P2P {
				continue
			}
			g := byName[c.Group]
			if g == nil {
				g = &group{name: c.Group, bySeq: map[int]map[int64]dump.Collective{}}
				byName[c.Group] = g
				all = append(all, g)
			}
			if g.bySeq[r.number()] == nil {
				g.bySeq[r.number()] = map[int64]dump.Collective{}
			}
			g.bySeq[r.number()][c.Sequence] = c
			if len(c.Ranks) > 0 {
				ranksOf[c.Group] = c.Ranks
			}
		}
	}
	for _, g := range all {
		for _, n := range answered {
			if known := ranksOf[g.name]; slices.Contains(known, n) || known == nil && g.bySeq[n] != nil {
				g.members = append(g.members, n)
			}
		}
		for _, n := range ranksOf[g.name] {
			if !slices.Contains(answered, n) {
				g.others = append(g.others, n)
			}
		}
	}
	return all
}

// front is the first collective of a group that some rank has entered and not completed.
type front struct {
	*group
	sequence int64
	waiting  []int // ranks that have entered it and not completed it
	absent   []int // ranks whose last collective is an earlier one
}

func (g *group) front() (front, bool) {
	f := front{group: g}
	for _, n := range g.members {
		completed := g.completed(n)
		for sequence, c := range g.bySeq[n] {
			if c.State != "completed" && sequence > completed && (f.sequence == 0 || sequence < f.sequence) {
				f.sequence = sequence
			}
		}
	}
	if f.sequence == 0 {
		return f, false
	}
	for _, n := range g.members {
		if c, ok := g.bySeq[n][f.sequence]; ok && c.State != "completed" && f.sequence > g.completed(n) {
			f.waiting = append(f.waiting, n)
		} else if !ok && g.last(n) < f.sequence {
			f.absent = append(f.absent, n)
		}
	}
	return f, true
}

// completed is the sequence number of a rank's last completed collective, 0 for none. Earlier ones have ended too, even
// if the recorder has no event of their end: parts of coalesced collectives have none.
func (g *group) completed(n int) (last int64) {
	for sequence, c := range g.bySeq[n] {
		if c.State == "completed" {
			last = max(last, sequence)
		}
	}
	return last
}

// last is the sequence number of a rank's last collective in the group, 0 for none.
func (g *group) last(n int) (last int64) {
	for sequence := range g.bySeq[n] {
		last = max(last, sequence)
	}
	return last
}

// recorded concludes from flight recorders. A conclusion names a rank that differs from the others.
func (j job) recorded() (all []finding, conclusive bool) {
	blocked := map[int]bool{}
	var fronts []front
	for _, g := range j.groups() {
		if f, ok := g.front(); ok {
			fronts = append(fronts, f)
			for _, n := range f.waiting {
				blocked[n] = true
			}
		}
	}
	// A rank that waits in one group explains less than one that waits in none.
	slices.SortStableFunc(fronts, func(a, b front) int { return a.explains(blocked) - b.explains(blocked) })
	for _, f := range fronts {
		text, found := j.mismatch(f)
		if len(f.absent) > 0 {
			text, found = j.neverEntered(f), true
		}
		if !found {
			text = fmt.Sprintf("%s %s in %s, called alike%s", j.of(f.waiting), plural(f.waiting, "is", "are all"),
				f.call(f.waiting), j.cause(f))
		}
		conclusive = conclusive || found
		all = append(all, finding{text, fmt.Sprintf("%s of %s, group %s", byRecorder, named(f.members), f.name)})
	}
	return all, conclusive
}

// cause is what is left as cause when all whose recorders answered have called alike.
func (j job) cause(f front) string {
	ended := j.numbers(func(r rank) bool { return !r.alive() && slices.Contains(f.others, r.number()) })
	switch {
	case len(ended) > 0:
		return fmt.Sprintf("; %s of the same group %s ended", named(ended), plural(ended, "has", "have"))
	case len(f.others) > 0:
		return fmt.Sprintf("; of %s no recorder answered", named(f.others))
	}
	return ": the network or a GPU is left as cause"
}

func (f front) explains(blocked map[int]bool) int {
	for _, n := range f.absent {
		if !blocked[n] {
			return 0
		}
	}
	return 1
}

func (j job) neverEntered(f front) string {
	text := fmt.Sprintf("%s never entered %s", j.of(f.absent), f.call(f.waiting))
	rest := "the others wait"
	if len(f.waiting)+len(f.absent) < j.size {
		rest = named(f.waiting) + " " + plural(f.waiting, "waits", "wait")
	}
	text += fmt.Sprintf("; %s for %s", rest, plural(f.absent, "it", "them"))
	if longest := j.longest(f); longest > 0 {
		text += " since " + seconds(longest)
	}
	return text
}

// longest is how long ranks have waited at a front, at most.
func (j job) longest(f front) (longest time.Duration) {
	for _, r := range j.ranks {
		c, ok := f.bySeq[r.number()][f.sequence]
		if ok && slices.Contains(f.waiting, r.number()) && !c.Created.IsZero() && !r.Time.IsZero() {
			longest = max(longest, r.Time.Sub(c.Created))
		}
	}
	return longest
}

// call is "ALLREDUCE #812 (train.py:214)", as most of the ranks have called it.
func (f front) call(ranks []int) string {
	c := f.bySeq[ranks[0]][f.sequence]
	text := fmt.Sprintf("%s #%d", c.Operation, f.sequence)
	if where := calledAt(c); where != "" {
		text += " (" + where + ")"
	}
	return text
}

func calledAt(c dump.Collective) string {
	if len(c.Python) == 0 {
		return ""
	}
	return caller(c.Python, 0)
}

// unevenInputs are operations whose inputs may differ between ranks.
var unevenInputs = []string{"ALLTOALL", "SCATTER", "GATHER", "COALESCED"}

// mismatch says which ranks have called something else under the same number.
func (j job) mismatch(f front) (string, bool) {
	var ranks []rank
	for _, r := range j.ranks {
		if _, ok := f.bySeq[r.number()][f.sequence]; ok {
			ranks = append(ranks, r)
		}
	}
	calls, members := by(ranks, func(r rank) string { return signature(f.bySeq[r.number()][f.sequence]) })
	if len(calls) < 2 {
		return "", false
	}
	slices.SortStableFunc(calls, func(a, b string) int { return len(members[a]) - len(members[b]) })
	var parts []string
	for i, call := range calls {
		who := named(members[call])
		if i == 0 {
			who = j.of(members[call])
		}
		text := who + " called " + call
		if where := calledAt(f.bySeq[members[call][0]][f.sequence]); where != "" {
			text += " (" + where + ")"
		}
		if i == 0 {
			text += fmt.Sprintf(" as #%d of group %s", f.sequence, f.name)
		}
		parts = append(parts, text)
	}
	return strings.Join(some3(parts), "; "), true
}

// signature is what must be the same on all ranks.
func signature(c dump.Collective) string {
	if slices.Contains(unevenInputs, c.Operation) || len(c.Sizes) == 0 {
		return c.Operation
	}
	var sizes []string
	for _, dims := range c.Sizes {
		sizes = append(sizes, strings.ReplaceAll(fmt.Sprint(dims), " ", "x"))
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s %s", c.Operation, strings.Join(some3(sizes), ","), c.Type))
}
