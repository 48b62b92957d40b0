package check

import (
	"fmt"
	"slices"
	"strings"
)

// finding tells why nothing can go on, by the first of the causes that holds.
func (g *waitGraph) finding() Finding {
	f := Finding{Kind: Deadlock, Count: 1}
	for i := range g.waits {
		f.Waits = append(f.Waits, g.waits[i].Wait)
	}
	for _, why := range []func(*Finding) bool{
		g.divergence, g.grids, g.resident, g.notLaunched, g.phase, g.passed, g.nobody, g.cycle,
	} {
		if why(&f) {
			return f
		}
	}
	f.Cause = causeHost
	f.Advice = "let each rank make the same calls in the same order"
	for i := range g.waits {
		f.Sides = append(f.Sides, g.waits[i].Access)
	}
	return f
}

// blame makes a wait the one that the finding is about.
func (g *waitGraph) blame(f *Finding, cause string, waits ...int) {
	f.Cause = cause
	for _, i := range waits {
		f.Sides = append(f.Sides, g.waits[i].Access)
		if f.Where == "" {
			f.Where = g.waits[i].For
		}
	}
}

// grids looks for a launch whose counterpart at another rank has another grid.
func (g *waitGraph) grids(f *Finding) bool {
	for i := range g.waits {
		l := g.waits[i].launch
		if l == nil {
			continue
		}
		for _, other := range g.run.grids {
			if other.rank != l.rank && other.kernel == l.kernel && other.call == l.call && other.shape != l.shape {
				g.blame(f, causeGrids, i)
				f.Advice = fmt.Sprintf("launch %d of %s has a grid of %v at rank %d and of %v at rank %d: "+
					"give all ranks the same grid", l.call, l.kernel, l.shape, l.rank, other.shape, other.rank)
				return true
			}
		}
	}
	return false
}

// resident looks for a grid of which blocks have not begun while all others wait.
func (g *waitGraph) resident(f *Finding) bool {
	for i := range g.waits {
		l := g.waits[i].launch
		if l == nil || g.waits[i].addr == 0 {
			continue
		}
		if pending, first := l.grid.Pending(); pending > 0 {
			g.blame(f, causeResident, i)
			f.Advice = fmt.Sprintf("launch %d of %s at rank %d has a grid of %v blocks, of which %d are resident; "+
				"those from block %d on begin when others end: launch no more blocks than fit",
				l.call, l.kernel, l.rank, l.shape, l.grid.Resident(), first)
			return true
		}
	}
	return false
}

// notLaunched looks for a rank that has launched the kernel of a wait less often.
func (g *waitGraph) notLaunched(f *Finding) bool {
	for i := range g.waits {
		l := g.waits[i].launch
		if l == nil {
			continue
		}
		calls, launches := make([]int, len(g.run.ranks)), make([]int, len(g.run.ranks))
		for _, other := range g.run.grids {
			launches[other.rank]++
			if other.kernel == l.kernel {
				calls[other.rank]++
			}
		}
		for rank, n := range calls {
			// A rank that has launched other kernels alone has another part in the program.
			if n < l.call && (n > 0 || launches[rank] == 0) && !g.run.ranks[rank].hasQueued() {
				g.blame(f, causeNotLaunched, i)
				f.Advice = fmt.Sprintf("rank %d is in launch %d of %s, and rank %d has begun %d: %s", l.rank, l.call, l.kernel,
					rank, n, g.hostText(rank))
				return true
			}
		}
	}
	return false
}

// hasQueued reports whether work of a rank has not begun, which may be a launch.
func (r *Rank) hasQueued() bool {
	return slices.ContainsFunc(r.run.streams, func(s *stream) bool { return s.device.rank == r && len(s.queue) > 0 })
}

// hostText says what the host code of a rank does.
func (g *waitGraph) hostText(rank int) string {
	if h := g.run.ranks[rank].host; !h.ended {
		return "its host code waits: " + h.doing
	}
	return "its host code has ended"
}

// nobody looks for a word that nobody who still runs can write.
func (g *waitGraph) nobody(f *Finding) bool {
	for i, w := range g.waits {
		if w.addr == 0 || len(w.On) > 0 {
			continue
		}
		g.blame(f, causeNobody, i)
		f.Advice = "nobody has written the word" + g.endedText(w.launch) +
			": write it before its writer ends, at the address that is polled"
		if len(w.Writers) > 0 {
			last := w.Writers[len(w.Writers)-1]
			f.Advice = "write the value that the wait needs; the word was written last by " + last.Who()
			if place := last.Place(); place != "" {
				f.Advice += " at " + place
			}
		}
		return true
	}
	return false
}

// endedText names the other ranks that have ended the same launch.
func (g *waitGraph) endedText(l *watchedGrid) string {
	var ended []string
	for _, other := range g.run.grids {
		if l != nil && other.rank != l.rank && other.kernel == l.kernel && other.call == l.call && other.grid == nil {
			ended = append(ended, fmt.Sprintf("rank %d", other.rank))
		}
	}
	if len(ended) == 0 {
		return ""
	}
	slices.Sort(ended)
	return fmt.Sprintf("; %s ended launch %d of %s", strings.Join(ended, " and "), l.call, l.kernel)
}

// cycle looks for the shortest cycle of waits through a word.
func (g *waitGraph) cycle(f *Finding) bool {
	var best []int
	for i := range g.waits {
		if c := g.cycleOf(i); g.waits[i].addr != 0 && c != nil && (best == nil || len(c) < len(best)) {
			best = c
		}
	}
	if best == nil {
		return false
	}
	ranks := map[int]bool{}
	for _, i := range best {
		ranks[g.waits[i].Rank] = true
	}
	of := " between blocks"
	if len(ranks) > 1 {
		of = " between ranks"
	}
	g.blame(f, causeCycle+of, best...)
	var text []string
	for _, i := range append(best, best[0]) {
		text = append(text, g.waits[i].Name())
	}
	chain := text[0] + " waits for " + strings.Join(text[1:], ", which waits for ")
	f.Advice = chain + ": write one of the words before the wait"
	return true
}

// cycleOf is the shortest path from a wait back to itself, by breadth-first search.
func (g *waitGraph) cycleOf(start int) []int {
	from, todo := map[int]int{}, []int{start}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, next := range g.waits[at].On {
			if next == start {
				path := []int{at}
				for ; at != start; path = append(path, at) {
					at = from[at]
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[next]; !seen {
				from[next] = at
				todo = append(todo, next)
			}
		}
	}
	return nil
}
