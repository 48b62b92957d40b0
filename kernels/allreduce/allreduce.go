// Package allreduce holds the algorithms of allreduce: every rank gets the
// reduction of all ranks' inputs. A .cu file and a .go file per algorithm stand next to
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
		Summary:    "every rank gets the reduction of all ranks' inputs",
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
// times the data into every rank with one barrier, two-shot about twice the data
// with two. The limits for up to 4 ranks were seen on H200s (kernels/NOTES.md);
// the one beyond is an estimate by the bytes that each moves.
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

// ownWorlds are the world sizes for which sums have kernels of their own.
var ownWorlds = []int{2, 4, 8}

// entries lists the entry points that ENTRIES makes.
func entries(kernel string) []string {
	var names []string
	for _, op := range collective.Ops() {
		names = append(names, entry(kernel, op, 1))
	}
	for _, n := range ownWorlds {
		names = append(names, entry(kernel, collective.Sum, n))
	}
	return names
}

// entry is the entry point for an operation and a world size.
func entry(kernel string, op collective.Op, world int) string {
	if op == collective.Sum && slices.Contains(ownWorlds, world) {
		return fmt.Sprintf("%s_%s_n%d", kernel, op, world)
	}
	return fmt.Sprintf("%s_%s", kernel, op)
}

// vecBytes is the widest access of a thread.
const vecBytes = 16

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
