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

// Collective describes broadcast and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"broadcast_perf", "bcast"},
		Summary: "every rank gets the root's input",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), Lamport(), Bulk(), Chain(), CopyEngine(), Multimem(),
			libraries.NCCL(name, shape), libraries.NVSHMEM(name, shape),
		},
		BusFactor: func(int) float64 { return 1 },
		Choose:    choose,
	}
})

// choose prefers packets while the saved barriers cost more than sending every byte twice from the
// root to all peers. For 2 ranks the limit was measured on H200s (kernels/NOTES.md); for more
// ranks it is estimated from the bytes moved.
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(max(world-1, 1)) <= 512<<10 {
		return "ll"
	}
	return "p2p"
}
