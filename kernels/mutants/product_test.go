package mutants

import (
	"strings"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
)

const (
	productCalls = 2  // that follow each other
	productShare = 10 // one in how many mutants is judged, because runs take long
)

// products lists the kernels of fused products for two ranks: by mma on compute capability 8.0, by wgmma on 9.0. The
// depth needs each stage of shared memory more than once. The matrices are small: kernels of wide tiles are left out.
func products() (all []*subject, err error) {
	const world = 2
	for _, major := range []int{8, 9} {
		for _, o := range matmul.Operations() {
			for _, a := range o.Algorithms {
				p := matmul.Problem{M: 9 * world, N: 40, K: 200, DType: collective.Half}
				if a.Library != "" || a.NoCommunication || a.Check(p, world) != nil {
					continue
				}
				for _, k := range a.Kernels {
					wide := strings.Contains(k.Module.Name, "_224_") || strings.Contains(k.Module.Name, "_256_")
					if k.DType.Name != p.DType.Name || !k.Module.Arch.RunsOn(10*major) || wide {
						continue
					}
					text, err := ptx.Source(k.Module.Name)
					if err != nil {
						return nil, err
					}
					calls := checktask.Products{
						Operation: o, Algorithm: a, Problems: []matmul.Problem{p}, Launches: productCalls, MaxBlocks: blocks,
					}
					all = append(all, productSubject(world, major, k, text, calls))
				}
			}
		}
	}
	return all, nil
}

// productSubject is a kernel of a product. Every other schedule has more tiles than blocks, which reuse what the first
// ones have used.
func productSubject(world, major int, k collective.Kernel, text []byte, calls checktask.Products) *subject {
	with := func(calls checktask.Products, do func(*checktask.Products, *check.Rank) error,
	) func([]byte) (func(*check.Rank) error, error) {
		return func(text []byte) (func(*check.Rank) error, error) {
			mutated := calls
			mutated.Source = replaced(k.Module.Name, text)
			return func(r *check.Rank) error { return do(&mutated, r) }, nil
		}
	}
	large := calls
	large.Problems = []matmul.Problem{{M: 70 * int64(world), N: 280, K: 72, DType: collective.Half}}
	return &subject{
		name: calls.Operation.Name + " " + calls.Algorithm.Name, world: world, major: major, sms: 2, share: productShare,
		module: k.Module.Name, entry: k.Entry, text: text,
		task: with(calls, (*checktask.Products).Task), varied: with(large, (*checktask.Products).Task),
		absent: with(calls, (*checktask.Products).Absent),
	}
}
