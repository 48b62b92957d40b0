// Package broadcast holds the algorithms of broadcast: every rank gets the root's input.
package broadcast

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "broadcast"

var shape = collective.Shape{Root: collective.RootIsSource}

// Collective describes broadcast and its algorithms: always the same, which
// callers do not change.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"broadcast_perf", "bcast"},
		Summary: "every rank gets the root's input",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), Bulk(), Chain(), Relay(), CopyEngine(), Multimem(),
			libraries.NCCL(name, shape), libraries.NVSHMEM(name, shape),
		},
		BusFactor: func(int) float64 { return 1 },
		Choose:    choose,
	}
})

// choose prefers packets as long as the barriers that they save cost more than the
// root's sending every byte to all peers, twice. The limit is that of 2 H200s
// (kernels/NOTES.md), and an estimate by the bytes beyond.
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(max(world-1, 1)) <= 512<<10 {
		return "ll"
	}
	return "p2p"
}
