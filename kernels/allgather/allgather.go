// Package allgather holds the algorithms of allgather: every rank gets all ranks' inputs, one after the other.
//
//   - ll: every rank stores its part to all peers as packets, without a barrier. For small sizes.
//   - lamport: the same in words that are their own flags, which are half the bytes. For medium sizes.
//   - push: every rank stores its part to all peers, between two barriers. pull: every rank loads the peers' parts.
//   - bulk: like push, by bulk copies of a few blocks. copy_engine: by memory copies.
//   - multimem: every rank stores its part once, and the switch delivers it to all (NVLS).
package allgather

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "allgather"

var shape = collective.Shape{Recv: collective.PartPerRank}

// Collective describes allgather and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"all-gather", "all_gather", "all_gather_perf"},
		Summary: "every rank gets the inputs of all ranks, one after the other",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), Pull(), Push(), LL(), Lamport(), Bulk(), CopyEngine(), Multimem(),
			libraries.NCCL(name, shape), libraries.NCCLSymmetric(name, shape), libraries.NVSHMEM(name, shape),
		},
		BusFactor: collective.BesideOwnPart,
		Choose:    choose,
	}
})

// choose estimates: packets are faster while the saved barriers cost more than sending every byte twice.
func choose(world int, call collective.Call) string {
	if call.Bytes()*int64(world) <= 64<<10 {
		return "ll"
	}
	return "push"
}
