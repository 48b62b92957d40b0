// Package barrier holds the algorithms of barrier: no rank continues before all ranks have arrived.
//
//   - flag: every rank stores a flag to every other rank, and polls its own.
//   - multimem: every rank adds to a counter on all ranks by one multicast reduction (NVLS), and polls its own copy.
//
// Other algorithms enqueue the flag barrier between copies: [Meet].
package barrier

import (
	"sync"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

const name = "barrier"

var shape = collective.Shape{Empty: true}

// Collective describes barrier and its algorithms. Callers must not change the result, which is
// shared.
var Collective = sync.OnceValue(func() *collective.Collective {
	return &collective.Collective{
		Name:       name,
		Aliases:    []string{"barrier_perf"},
		Summary:    "no rank continues before all ranks have arrived",
		Shape:      shape,
		Algorithms: []*collective.Algorithm{Flag(), Multimem(), ofNVSHMEM()},
		BusFactor:  func(int) float64 { return 1 },
		Choose:     func(int, collective.Call) string { return "flag" },
	}
})

// ofNVSHMEM is NVSHMEM's barrier. Its verification also uses the flag barrier. The flag barrier's kernels must be
// loaded first: loading a module can wait for running kernels, and NVSHMEM's kernel may be waiting for a peer.
func ofNVSHMEM() *collective.Algorithm {
	a := libraries.NVSHMEM(name, shape)
	a.Others = FlagKernels()
	return a
}

// Meet enqueues a barrier by flags, for an algorithm that has FlagKernels among its Others. The phase is reported if a
// rank is missing.
func Meet(c *collective.Comm, s cudart.Stream, phase collective.Phase) error {
	p := c.Params(collective.Call{})
	p.Phase = phase
	return c.LaunchOther(s, meetKernel(), c.OneBlock(), &p)
}

// FlagKernels lists the kernel of Meet.
func FlagKernels() []collective.Kernel { return collective.Copies(name, "flag", collective.SM80) }

// meetKernel returns the kernel of FlagKernels, made once.
var meetKernel = sync.OnceValue(func() collective.Kernel { return FlagKernels()[0] })
