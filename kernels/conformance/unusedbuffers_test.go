package conformance

import (
	"errors"
	"fmt"
	"testing"

	"gpurun/kernels/collective"
)

// Packets and mailboxes leave buffers local. Where there is a root, a rank without an input reads none, and a rank
// without an output writes none: their addresses may be invalid.
func TestBuffersOfNoUseAreNotTouched(t *testing.T) {
	t.Parallel()
	const nowhere = 1 << 50 // no memory is there
	for _, world := range []int{2, 3} {
		group{world: world, pdl: true}.run(t, func(m *member) error {
			defer m.meet() // memory stays until all are done
			local := func(a *collective.Algorithm) bool { return a.Needs.Packets || a.Needs.Mailboxes }
			for _, c := range calls(m.world, local) {
				shape := c.collective.Shape
				if shape.Root == collective.NoRoot {
					continue
				}
				c.count = 1000
				call := c.call(m)
				if !shape.Sends(m.rank, c.root) {
					call.Send = nowhere
				}
				if !shape.Receives(m.rank, c.root) {
					call.Recv = nowhere
				}
				if err := errors.Join(c.algorithm.Enqueue(m.comm, m.stream, call), m.synchronize()); err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
			}
			return nil
		})
	}
}
