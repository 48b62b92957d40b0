package matmul

import (
	"fmt"
)

// Operation is a product, with the algorithms that do it.
type Operation struct {
	Name    string
	Aliases []string // other accepted spellings
	Summary string
	// Gathers: every rank has M/world rows of A, rank r those from r*M/world on, and
	// gets all of A and A times its B. Otherwise it has all M rows of an A of its own.
	Gathers bool
	// Reduces: the result is the sum of all ranks' products. Each product is rounded to the element type once; they are
	// added in fp32 in rank order (fused algorithms begin with the owner's), and the sum is rounded again.
	Reduces bool
	// Scatters: rank r gets M/world rows of the result, those from r*M/world on.
	Scatters bool
	// Algorithms lists gpurun's own, the naive one first and last the one to prefer where the choice of Choose cannot run;
	// then those of libraries.
	Algorithms []*Algorithm
	// Choose picks the algorithm for a problem on some ranks: an estimate. It names one of gpurun's own, which may be
	// unable to run where the ranks' devices differ or have no peer access.
	Choose func(p Problem, world int, on GPU) string
}

// Algorithm finds an algorithm by name.
func (o *Operation) Algorithm(name string) (*Algorithm, bool) {
	for _, a := range o.Algorithms {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}

// Check says why so many ranks cannot share a problem, and which one they can, or returns nil.
func (o *Operation) Check(p Problem, world int) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("%s: %w", o.Name, err)
	}
	if over := p.M % int64(world); (o.Gathers || o.Scatters) && over != 0 {
		more := p.M - over + int64(world)
		take := fmt.Sprintf("%d or %d", p.M-over, more)
		if p.M < int64(world) {
			take = fmt.Sprint(more)
		}
		return fmt.Errorf("%s: M of %d is no multiple of %d, and every rank has as many rows: take %s", o.Name, p.M, world,
			take)
	}
	return nil
}

// RowsOfA and RowsOfC are how many rows of A a rank has, and of the result.
func (o *Operation) RowsOfA(p Problem, world int) int64 { return rowsOfRank(o.Gathers, p, world) }

// RowsOfC is documented with RowsOfA.
func (o *Operation) RowsOfC(p Problem, world int) int64 { return rowsOfRank(o.Scatters, p, world) }

func rowsOfRank(shared bool, p Problem, world int) int64 {
	if shared {
		return p.M / int64(world)
	}
	return p.M
}

// Buffers says how large a rank's matrices are.
func (o *Operation) Buffers(p Problem, world int) Buffers {
	size := int64(p.DType.Size)
	b := Buffers{A: o.RowsOfA(p, world) * p.K * size, B: p.N * p.K * size, C: o.RowsOfC(p, world) * p.N * size}
	if o.Gathers {
		b.AFull = p.M * p.K * size
	}
	return b
}
