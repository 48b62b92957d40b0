// Package gather holds the algorithms of gather: the root gets the inputs of all ranks, one after the other.
package gather

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "gather"

var shape = collective.Shape{Recv: collective.PartPerRank, Root: collective.RootIsDestination}

// Collective describes gather and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"gather_perf"},
		Summary: "the root gets the inputs of all ranks, one after the other",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), Lamport(), CopyEngine(), libraries.NCCL(name, shape),
		},
		BusFactor: collective.BesideOwnPart,
		Choose:    choose,
	}
})

// choose prefers packets while the saved barriers cost more than receiving every byte twice at the
// root. The limit is an estimate from the times of reduce on 2 H200s (kernels/NOTES.md).
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(max(world-1, 1)) <= 512<<10 {
		return "ll"
	}
	if call.Bytes()*int64(world) >= 128<<20 { // the copies are faster, but begin later
		return "copy_engine"
	}
	return "p2p"
}
