// Package reduce holds the algorithms of reduce: the root gets the reduction of all ranks' inputs.
package reduce

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "reduce"

var shape = collective.Shape{Reduces: true, Root: collective.RootIsDestination}

// Collective describes reduce and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"reduce_perf"},
		Summary: "the root gets the reduction of all ranks' inputs",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), OneShotLamport(), TwoShotLamport(), Chain(), CopyEngine(),
			libraries.NCCL(name, shape),
		},
		BusFactor: func(int) float64 { return 1 },
		Choose:    choose,
	}
})

// choose prefers packets while the saved barriers cost more than receiving every byte twice, from
// all peers, at the root. For 2 ranks the limit was measured on H200s (kernels/NOTES.md); for more
// ranks it is estimated from the bytes moved.
func choose(world int, call collective.Call) string {
	limit := int64(1 << 20)
	if world > 2 {
		limit = 512 << 10 / int64(world-1)
	}
	if call.Bytes() <= limit {
		return "ll"
	}
	return "p2p"
}
