// Package reduce holds the algorithms of reduce: the root gets the reduction of all ranks' inputs.
package reduce

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/naive"
)

const name = "reduce"

var shape = collective.Shape{Reduces: true, Rooted: true}

// Collective describes reduce and its algorithms.
func Collective() *collective.Collective {
	return &collective.Collective{
		Name:       name,
		Aliases:    []string{"reduce_perf"},
		Summary:    "the root gets the reduction of all ranks' inputs",
		Shape:      shape,
		Algorithms: []*collective.Algorithm{naive.Algorithm(name, shape), P2P(), libraries.NCCL(name, shape)},
		BusFactor:  func(int) float64 { return 1 },
		Choose:     func(int, collective.Call) string { return "p2p" },
	}
}
