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

// Collective describes scatter and its algorithms: always the same, which
// callers do not change.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:       name,
		Aliases:    []string{"scatter_perf"},
		Summary:    "every rank gets its part of the root's input",
		Shape:      shape,
		Algorithms: []*collective.Algorithm{naive.Algorithm(name, shape), P2P(), LL(), libraries.NCCL(name, shape)},
		BusFactor:  collective.BesideOwnPart,
		Choose:     choose,
	}
})

// choose prefers packets as long as the barriers that they save cost more than the
// root's sending every byte twice: an estimate, by what broadcast takes on 2 H200s
// (kernels/NOTES.md).
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(max(world-1, 1)) <= 512<<10 {
		return "ll"
	}
	return "p2p"
}
