// Package scatter holds the algorithms of scatter: every rank gets its part of the root's input.
package scatter

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "scatter"

var shape = collective.Shape{Send: collective.PartPerRank, Root: collective.RootIsSource}

// Collective describes scatter and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"scatter_perf"},
		Summary: "every rank gets its part of the root's input",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), Lamport(), CopyEngine(), libraries.NCCL(name, shape),
		},
		BusFactor: collective.BesideOwnPart,
		Choose:    choose,
	}
})

// choose prefers packets while the saved barriers cost more than sending every byte twice from the
// root. The limit is an estimate from the times of broadcast on 2 H200s (kernels/NOTES.md).
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(max(world-1, 1)) <= 512<<10 {
		return "ll"
	}
	if call.Bytes()*int64(world) >= 128<<20 { // the copies are faster, but begin later
		return "copy_engine"
	}
	return "p2p"
}
