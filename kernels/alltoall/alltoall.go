// Package alltoall holds the algorithms of alltoall: every rank gets from each rank the part that is meant for it.
// They run out of place only.
//
//   - ll: every rank stores each peer's part to it as packets, without a barrier. For small sizes.
//   - lamport: the same in words that are their own flags, which are half the bytes. For medium sizes.
//   - push: every rank stores each peer's part to it between two barriers. copy_engine: by memory copies.
package alltoall

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "alltoall"

var shape = collective.Shape{Send: collective.PartPerRank, Recv: collective.PartPerRank}

// Collective describes alltoall and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"all-to-all", "all_to_all", "alltoall_perf"},
		Summary: "every rank gets its part of every rank's input",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), Push(), LL(), Lamport(), CopyEngine(),
			libraries.NCCL(name, shape), libraries.NVSHMEM(name, shape),
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
