// Package allreduce holds the algorithms of allreduce: every rank gets the reduction of all ranks' inputs. Each
// algorithm has a .cu file, the kernel, which opens with its contract, and a .go file, its host side.
//
//   - oneshot: every rank stages its input, waits at one barrier, and loads all inputs. For small sizes.
//   - oneshot_ll, oneshot_lamport: every rank stores its input to all peers, as packets or in mailboxes, without a
//     barrier. For small sizes.
//   - twoshot: every rank reduces its part of the inputs and stores the result to all, between two barriers.
//     twoshot_lamport does so by mailboxes, without barriers; twoshot_push by stores alone, through scratch.
//   - copy_engine: copy engines fetch the parts, a kernel reduces them and stores the results.
//   - multimem_oneshot, multimem_twoshot: the switch adds (NVLS); multimem_twoshot also delivers the result.
//
// All but multimem add in rank order, so that all ranks get the same bits.
package allreduce

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

// name is the name of the collective and of its folder.
const name = "allreduce"

var shape = collective.Shape{Reduces: true}

// Collective describes allreduce and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:    name,
		Aliases: []string{"all-reduce", "all_reduce", "all_reduce_perf"},
		Summary: "every rank gets the reduction of all ranks' inputs",
		Shape:   shape,
		Algorithms: []*collective.Algorithm{
			naive.Algorithm(name, shape), OneShot(), OneShotLL(), OneShotLamport(), TwoShot(), TwoShotLamport(), TwoShotPush(),
			CopyEngine(),
			MultimemOneShot(), MultimemTwoShot(),
			libraries.NCCL(name, shape), libraries.NCCLSymmetric(name, shape), libraries.NVSHMEM(name, shape),
		},
		BusFactor: func(world int) float64 { return 2 * float64(world-1) / float64(world) },
		Choose:    choose,
	}
})

// choose prefers packets while the latency of the link exceeds the transfer time of the data. It prefers one-shot while
// the saved barrier costs more than moving n-1 times the data, not twice, into every rank. It prefers algorithms of
// stores alone if the links are the bottleneck. Up to 4 ranks the limits were measured on H200s (kernels/NOTES.md);
// for more ranks they are estimated from the bytes moved.
func choose(world int, call collective.Call) string {
	const push = 4 << 20
	ll, oneshot := int64(64<<10), int64(1<<20)
	switch {
	case world > 4:
		ll, oneshot = 16<<10, 64<<10
	case world > 2:
		ll, oneshot = 32<<10, 256<<10
	}
	if call.Epilogue.Kind == collective.RMSNorm && world > 2 {
		ll = 0 // a block takes a row, so one block polls for all packets of it
	}
	switch bytes := call.Bytes(); {
	case bytes <= ll && OneShotLL().Check(call, world) == nil:
		return "oneshot_ll"
	case bytes <= oneshot:
		return "oneshot"
	case bytes >= push && TwoShotPush().Check(call, world) == nil:
		return "twoshot_push"
	}
	return "twoshot"
}
