// Package allreduce holds the algorithms of allreduce: every rank gets the sum
// of all ranks' inputs. A .cu file and a .go file per algorithm stand next to
// each other: the kernel and its host side.
package allreduce

import (
	"fmt"
	"slices"

	"gpurun/kernels/collective"
)

// Collective describes allreduce and its algorithms.
func Collective() *collective.Collective {
	naive, oneshot, twoshot := Naive(), OneShot(), TwoShot()
	return &collective.Collective{
		Name:       "allreduce",
		Aliases:    []string{"all-reduce", "all_reduce", "all_reduce_perf"},
		Summary:    "every rank gets the sum of all ranks' inputs",
		Algorithms: []*collective.Algorithm{naive, oneshot, twoshot},
		BusFactor:  func(world int) float64 { return 2 * float64(world-1) / float64(world) },
		Choose: func(world int, call collective.Call) *collective.Algorithm {
			if call.Bytes() <= oneShotLimit(world) {
				return oneshot
			}
			return twoshot
		},
	}
}

// oneShotLimit is the size in bytes up to which one-shot wins: it moves n-1
// times the data into every rank with one barrier, two-shot about twice the data with
// two. The crossing points are those seen on NVLink; kernels/NOTES.md.
func oneShotLimit(world int) int64 {
	switch {
	case world <= 2:
		return 1 << 20
	case world <= 4:
		return 256 << 10
	default:
		return 64 << 10
	}
}

var (
	sums      = []collective.Op{collective.Sum}
	elements  = collective.DTypes()
	ownWorlds = []int{2, 4, 8} // world sizes with kernels of their own
)

// entries lists the entry points that ENTRIES_PER_WORLD_SIZE makes.
func entries(kernel string) []string {
	names := []string{kernel + "_n"}
	for _, n := range ownWorlds {
		names = append(names, entry(kernel, n))
	}
	return names
}

// entry is the entry point for a world size.
func entry(kernel string, world int) string {
	if slices.Contains(ownWorlds, world) {
		return fmt.Sprintf("%s_n%d", kernel, world)
	}
	return kernel + "_n"
}

// vecBytes is the widest access of a thread.
const vecBytes = 16

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
