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

// Collective describes reduce and its algorithms: always the same, which
// callers do not change.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"reduce_perf"},
		Summary: "the root gets the reduction of all ranks' inputs",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), P2P(), LL(), CopyEngine(), libraries.NCCL(name, shape),
		},
		BusFactor: func(int) float64 { return 1 },
		Choose:    choose,
	}
})

// choose prefers packets as long as the barriers that they save cost more than the
// root's getting every byte from all peers, twice. The limit is that of 2 H200s
// (kernels/NOTES.md), and an estimate by the bytes beyond.
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
