package conformance

import (
	"fmt"
	"sync"

	"gpurun/kernels/reference"
)

// sharedQuantities holds the reference of results that are the same on all ranks of a group. The first rank that asks
// computes it, and it is dropped when all ranks have asked, so that the memory of one result is enough.
type sharedQuantities struct {
	mu   sync.Mutex
	kept map[string]*keptQuantities // by all fields of the product
}

type keptQuantities struct {
	compute func() []reference.Quantities
	askers  int // ranks that have not asked yet
}

// of returns the quantities of all rows of a sum of products.
func (s *sharedQuantities) of(p reference.Product) []reference.Quantities {
	name := fmt.Sprintf("%+v", p)
	s.mu.Lock()
	k, ok := s.kept[name]
	if !ok {
		k = &keptQuantities{
			askers: p.World, compute: sync.OnceValue(func() []reference.Quantities { return p.Quantities(0, 0, p.M) }),
		}
		if s.kept == nil {
			s.kept = map[string]*keptQuantities{}
		}
		s.kept[name] = k
	}
	if k.askers--; k.askers == 0 {
		delete(s.kept, name)
	}
	s.mu.Unlock()
	return k.compute()
}

// quantities is what a rank's result is verified by.
func (c matmulCall) quantities(m *member) []reference.Quantities {
	if c.operation.Reduces && !c.operation.Scatters {
		return m.quantities.of(c.in)
	}
	rows, first := c.operation.RowsOfC(c.problem, c.in.World), int64(0)
	if c.operation.Scatters {
		first = int64(m.rank) * rows
	}
	return c.in.Quantities(m.rank, first, rows)
}
