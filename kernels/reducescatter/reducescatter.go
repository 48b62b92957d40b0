// Package reducescatter holds the algorithms of reducescatter: every rank gets its part of the reduction of all ranks'
// inputs.
//
//   - ll: every rank stores each peer's part to that peer as packets, without a barrier, and reduces the parts that it
//     receives. For small sizes.
//   - pull: every rank loads and reduces its part of all inputs, between two barriers.
//   - copy_engine: copy engines fetch the parts, a kernel reduces them. multimem: the switch adds (NVLS).
//
// All but multimem add in rank order.
package reducescatter

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "reducescatter"

var shape = collective.Shape{Send: collective.PartPerRank, Reduces: true}

// Collective describes reducescatter and its algorithms. Callers must not change the result, which
// is shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"reduce-scatter", "reduce_scatter", "reduce_scatter_perf"},
		Summary: "every rank gets its part of the reduction of all ranks' inputs",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), Pull(), LL(), CopyEngine(), Multimem(),
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
	return "pull"
}
