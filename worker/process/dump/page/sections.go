package page

import (
	"fmt"
	"slices"
	"strings"
)

// leastGroup is the least number of lines of a group: an empty one and its title.
const leastGroup = 2

// groups writes the stacks into so many lines: each group gets an equal part of them. Groups without room are counted.
func (p *page) groups(j job, lines int) {
	groups := j.likenesses(mostGroups)
	shown := groups[:min(len(groups), mostGroups, lines/leastGroup)]
	if len(shown) < len(groups) {
		lines -= leastGroup // for the count
		shown = groups[:min(len(shown), max(lines, 0)/leastGroup)]
	}
	for i, g := range shown {
		share, before := lines/(len(shown)-i), len(p.lines)
		title := page{}
		title.text(g.title(), "", "  ")
		title.shorten(share - 1)
		p.line("")
		p.lines = append(p.lines, title.lines...)
		share -= len(p.lines) - before
		p.stack(g, min(max(share, 0), mostFrames))
		lines -= len(p.lines) - before
	}
	if rest := groups[len(shown):]; len(rest) > 0 {
		var ranks []int
		for _, g := range rest {
			ranks = append(ranks, numbersOf(g.ranks)...)
		}
		p.line("")
		p.line("%d more places: %s", len(rest), named(ranks))
	}
}

// stack writes the frames of a group, or the functions of the kernel for a program without Python.
func (p *page) stack(g alike, lines int) {
	var left, right []string
	for i, f := range g.stack {
		left = append(left, f.Function)
		place := shortFile(f.File)
		if f.Line > 0 {
			place += ":" + ranges(g.lines[i])
		}
		right = append(right, place)
	}
	if len(g.stack) == 0 && g.ranks[0].alive() {
		for _, function := range g.ranks[0].thread.Kernel {
			left, right = append(left, function), append(right, "kernel")
		}
	}
	if len(left) > lines {
		if lines--; lines < 1 {
			return
		}
	}
	width := 0
	for _, name := range left[:min(lines, len(left))] {
		width = min(max(width, len([]rune(clean(name)))), 34)
	}
	for i, name := range left[:min(lines, len(left))] {
		p.line("    %-*s  %s", width, cut(clean(name), width), cutFront(clean(right[i]), columns-width-6))
	}
	if more := len(left) - lines; more > 0 {
		p.line("    and %d more", more)
	}
}

// collectives writes the last collectives of each process group.
func (p *page) collectives(j job) {
	groups := j.groups()
	if len(groups) == 0 {
		return
	}
	p.line("")
	p.line("last collectives, by PyTorch's flight recorder")
	for i, g := range groups {
		if i == 4 {
			p.line("  and %d more process groups", len(groups)-i)
			break
		}
		calls, ranks := by(j.only(g.members), func(r rank) string {
			c, ok := g.bySeq[r.number()][g.last(r.number())]
			if !ok {
				return "none"
			}
			return fmt.Sprintf("%s as #%d, %s", signature(c), c.Sequence, c.State)
		})
		slices.SortStableFunc(calls, func(a, b string) int { return len(ranks[a]) - len(ranks[b]) })
		for n, call := range calls {
			if n == 3 {
				p.line("  %s: and %d more", g.name, len(calls)-n)
				break
			}
			p.line("  %s: %s: %s", g.name, named(ranks[call]), call)
		}
	}
}

// gpus writes how busy the GPUs are.
func (p *page) gpus(j job) {
	var with []rank
	for _, r := range j.ranks {
		if r.GPU != nil && r.alive() {
			with = append(with, r)
		}
	}
	if len(with) == 0 {
		return
	}
	loads, ranks := by(with, func(r rank) int { return r.GPU.Utilisation })
	slices.Sort(loads)
	var parts []string
	for _, load := range loads {
		parts = append(parts, fmt.Sprintf("%s %d %%", named(ranks[load]), load))
	}
	p.line("")
	p.line("GPU in use: %s", strings.Join(parts, ", "))
}

// unheard are the ranks of which nothing was collected.
func (j job) unheard() (all []int) {
	known := map[int]bool{}
	for _, r := range j.ranks {
		known[r.number()] = true
	}
	for n := range j.size {
		if !known[n] {
			all = append(all, n)
		}
	}
	return all
}

// missing writes what was not collected, and why. What is missing of several ranks comes once.
func (p *page) missing(j job, elsewhere []string) {
	ranks := map[string][]int{}
	reasons := slices.Clone(elsewhere)
	if unheard := j.unheard(); len(unheard) > 0 && len(j.ranks) > 0 {
		reasons = append([]string{named(unheard) + ": nothing"}, reasons...)
	}
	for _, r := range j.ranks {
		for _, reason := range r.Missing {
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
			ranks[reason] = append(ranks[reason], r.number())
		}
	}
	if len(reasons) == 0 {
		return
	}
	p.line("")
	p.line("not collected")
	for i, reason := range reasons {
		if i == mostMissing {
			p.line("  and %d more", len(reasons)-i)
			break
		}
		if of := ranks[reason]; len(of) > 0 {
			reason = named(of) + ": " + reason
		}
		p.text(cut(clean(reason), 3*columns), "  ", "    ")
	}
}
