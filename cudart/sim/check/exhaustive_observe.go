package check

import (
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
	"gpurun/cudart/sim/exec"
)

// explore tells the strategy exhaustive of an access.
func (o *observer) explore(at exec.Place, a *exec.ObservedAccess) {
	strong := scopeOf(a.Order, a.Scope) != race.NoScope
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 {
			continue
		}
		word := wordID{address: addr}
		if exec.IsShared(addr) {
			word.launch, word.block = o.launch, at.Block
		}
		o.run.explores.print.add(strong, a.Kind != exec.Reads, word, a.Bytes*uint64(a.Elements))
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
