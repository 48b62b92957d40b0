// Package allgather holds the algorithms of allgather: every rank gets all ranks' inputs, one after the other.
//
//   - ll: every rank stores its part to all peers as packets, without a barrier. For small sizes.
//   - push, pull: every rank stores its part to all peers, or loads their parts, between two barriers.
//   - bulk: as push, by bulk copies of a few blocks. copy_engine: by memory copies. multimem: the switch delivers one
//
// store
//
//	to all (NVLS).
package allgather

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "allgather"

var shape = collective.Shape{Recv: collective.PartPerRank}

// Collective describes allgather and its algorithms: always the same, which
// callers do not change.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"all-gather", "all_gather", "all_gather_perf"},
		Summary: "every rank gets all ranks' inputs, one behind the other",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), Pull(), Push(), LL(), Bulk(), CopyEngine(), Multimem(),
			libraries.NCCL(name, shape), libraries.NVSHMEM(name, shape),
		},
		BusFactor: collective.BesideOwnPart,
		Choose:    choose,
	}
})

// choose takes packets as long as the barriers that they save cost more than sending every byte twice: an estimate.
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(world) <= 64<<10 {
		return "ll"
	}
	return "push"
}
