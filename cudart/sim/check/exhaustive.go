package check

import (
	"errors"

	"gpurun/cudart/sim/check/partialorder"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// exhaustive runs every schedule that differs from the others in the order of strong accesses to the same words, of
// which one writes, as package partialorder chooses.
type exhaustive struct {
	weak     bool // weak accesses count as strong ones, and arrivals at a barrier as writes
	search   partialorder.Search
	print    partialorder.Footprint // of the turn under way
	running  *actor
	stopped  map[schedule.Actor]bool // warps in front of a strong access
	finishes bool                    // the rest of the run is not explored
	stuck    bool                    // since all poll in vain
}

// errCut ends a run that shows nothing new.
var errCut = errors.New("the schedule is redundant")

// begin begins a run.
func (s *exhaustive) begin() {
	s.search.Begin()
	s.running, s.stopped, s.finishes, s.stuck = nil, map[schedule.Actor]bool{}, false, false
}

func (s *exhaustive) choose(r *run) choice {
	if s.finishes {
		return (&steady{s.running}).choose(r)
	}
	var able []schedule.Actor
	r.candidates(func(a *actor) bool {
		if r.canGoOn(a) {
			able = append(able, a.id)
		}
		return true
	})
	if len(able) == 0 { // all have ended, or wait for a later time
		s.search.End()
		s.finishes = true
		return choice{}
	}
	id, verdict := s.search.Choose(able)
	switch verdict {
	case partialorder.Redundant:
		return choice{end: errCut}
	case partialorder.Stuck:
		s.finishes, s.stuck = true, true
		return s.choose(r)
	}
	s.running, s.print = r.byID[id], partialorder.Footprint{}
	next := choice{actor: s.running, most: 1}
	if s.running.task != nil {
		next.most = schedule.Forever
		if s.stopped[id] {
			next.accesses = 1
		}
	}
	return next
}

// taken is called behind a turn. It returns an error to end the run.
func (s *exhaustive) taken(a *actor) error {
	if s.finishes {
		return nil
	}
	vain := a.task != nil && s.stopped[a.id] && a.warp.PollsAgain()
	if a.task != nil && !vain {
		s.stopped[a.id] = a.warp.StoppedBeforeAccess()
	}
	if !s.search.Taken(s.print, vain) {
		return errCut
	}
	return nil
}

// explore tells the strategy exhaustive of an access.
func (o *observer) explore(at exec.Place, a *exec.ObservedAccess) {
	strong := o.run.explores.weak || scopeOf(a.Order, a.Scope) != race.NoScope
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 {
			continue
		}
		word := partialorder.Word{Address: addr}
		if exec.IsShared(addr) {
			word.Launch, word.Block = o.launch, at.Block
		} else if exec.IsWorkspace(addr) {
			word.Launch = o.launch
		}
		o.run.explores.print.Add(strong, a.Kind != exec.Reads, word, a.Bytes*uint64(a.Elements))
	}
}

// exploreArrival tells the strategy exhaustive of an arrival at a barrier of a block.
func (o *observer) exploreArrival(block, barrier int) {
	const barriers = 1 << 62 // above the addresses of words
	if s := o.run.explores; s != nil && s.weak {
		word := partialorder.Word{Launch: o.launch, Block: block, Address: barriers + 4*uint64(barrier)}
		s.print.Add(true, true, word, 4)
	}
}

// ids are the names of warps of a block.
func (o *observer) ids(block int, warps []int) []schedule.Actor {
	var all []schedule.Actor
	for _, w := range warps {
		id := o.id
		id.Block, id.Warp = block, w
		all = append(all, id)
	}
	return all
}
