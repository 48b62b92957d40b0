package matmul

import (
	"errors"

	"gpurun/kernels/collective"
)

// The decomposed algorithms run a collective and a GEMM one after the other. The fused algorithms are compared with
// them.

// twoSteps is a collective and a GEMM, one after the other.
type twoSteps struct {
	gemms      func() []*GEMM
	collective *collective.Algorithm
	// call is the collective's.
	call func(call Call, world int) collective.Call
	// product is the GEMM's.
	product func(r *Runner, call Call) product
}

// gatherFirst gathers A with a collective's algorithm and multiplies it. With one rank there is nothing to gather: the
// product reads A in place, while a stream of its own copies A to where the gathered A belongs.
func gatherFirst(gather *collective.Algorithm, gemms func() []*GEMM) twoSteps {
	return twoSteps{
		gemms: gemms, collective: gather,
		call: func(call Call, world int) collective.Call {
			return collective.Call{
				Send: call.A, Recv: call.AFull, Count: call.M / int64(world) * call.K,
				DType: call.DType, Op: collective.None,
			}
		},
		product: func(r *Runner, call Call) product {
			a := call.AFull
			if r.World() == 1 {
				a = call.A
			}
			return product{call.M, r.Local(a), r.Local(call.C)}
		},
	}
}

// reduceLast multiplies into the staging, which a collective's algorithm then reduces; parts says how many parts its
// input has. With one rank there is nothing to reduce: the product is the result.
func reduceLast(reduce *collective.Algorithm, parts collective.Parts, gemms func() []*GEMM) twoSteps {
	return twoSteps{
		gemms: gemms, collective: reduce,
		call: func(call Call, world int) collective.Call {
			return collective.Call{
				Send: call.Staging, Recv: call.C, Count: call.M / parts.Of(world) * call.N,
				DType: call.DType, Op: collective.Sum,
			}
		},
		product: func(r *Runner, call Call) product {
			c := call.Staging
			if r.World() == 1 {
				c = call.C
			}
			return product{call.M, r.Local(call.A), r.Local(c)}
		},
	}
}

// algorithm describes both steps together.
func (s twoSteps) algorithm(name, summary string) *Algorithm {
	a := &Algorithm{
		Name: name, Summary: summary, GEMM: s.gemms,
		Tiles: tilesOf(s.gemms()), MaxRanks: s.collective.MaxRanks, Peers: s.collective.Needs.Peers,
		Prepare: s.prepare, Enqueue: s.enqueue,
		Scratch: func(p Problem, world int) int64 {
			if s.collective.ScratchBytes == nil {
				return 0
			}
			return s.collective.ScratchBytes(world, s.call(Call{Problem: p}, world).Bytes())
		},
	}
	if s.reduces() {
		a.Staging = wholeProduct
	}
	return a
}

// wholeProduct is the size of a rank's own product.
func wholeProduct(p Problem, _ int) int64 { return p.M * p.N * int64(p.DType.Size) }

// reduces reports whether the collective comes last.
func (s twoSteps) reduces() bool { return s.call(Call{}, 1).Op == collective.Sum }

func (s twoSteps) prepare(r *Runner, call Call) error {
	var err error
	switch {
	case r.World() > 1:
		err = r.Comm.Prepare(r.Main, s.collective, s.call(call, r.World()))
	case !s.reduces():
		err = r.prepareForks()
	}
	return errors.Join(err, r.prepareGEMM(s.gemms(), call, s.product(r, call)))
}

func (s twoSteps) enqueue(r *Runner, call Call) error {
	if s.reduces() {
		if err := r.multiply(s.gemms(), call, s.product(r, call)); err != nil || r.World() == 1 {
			return err
		}
		return s.collective.Enqueue(r.Comm, r.Main, s.call(call, r.World()))
	}
	if r.World() == 1 {
		return s.copyAndMultiply(r, call)
	}
	if err := s.collective.Enqueue(r.Comm, r.Main, s.call(call, r.World())); err != nil {
		return err
	}
	return r.multiply(s.gemms(), call, s.product(r, call))
}

// copyAndMultiply copies A while the product reads it.
func (s twoSteps) copyAndMultiply(r *Runner, call Call) error {
	if err := r.Main.Record(r.forked); err != nil {
		return err
	}
	if err := r.copyLocalShard(call, r.forked); err != nil {
		return err
	}
	err := r.multiply(s.gemms(), call, s.product(r, call))
	return errors.Join(err, r.Main.Wait(r.joined))
}
