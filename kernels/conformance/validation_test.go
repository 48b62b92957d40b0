package conformance

import (
	"fmt"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// A call that was good once does not open the door to one that no kernel could
// do: each is looked at, not only the first of its kind.
func TestEveryCallIsValidated(t *testing.T) {
	byRow := func(a *collective.Algorithm) bool {
		return a.Supports(collective.Float, collective.Sum, collective.RMSNorm)
	}
	group{world: 2}.run(t, func(m *member) error {
		for _, c := range calls(m.world, byRow) {
			good := c.call(m)
			good.Count = 128
			good.Epilogue = collective.Epilogue{
				Kind: collective.RMSNorm, Row: 64, Epsilon: 1, Weight: m.extra, Residual: m.extra + 1024,
				ResidualOut: m.extra + 2048,
			}
			if err := c.algorithm.Enqueue(m.comm, m.stream, good); err != nil {
				return err
			}
			for _, spoil := range []func(*collective.Call){
				func(c *collective.Call) { c.Epilogue.Row = 0 },
				func(c *collective.Call) { c.Epilogue.Row, c.Count = 1<<16, 1<<16 },
				func(c *collective.Call) { c.Count++ },
				func(c *collective.Call) { c.Recv += 4 },
				func(c *collective.Call) { c.Epilogue.Residual += 4 },
				func(c *collective.Call) { c.Root = m.world },
			} {
				bad := good
				spoil(&bad)
				if c.algorithm.Enqueue(m.comm, m.stream, bad) == nil {
					return fmt.Errorf("%s takes %+v", c.algorithm.Name, bad)
				}
			}
		}
		return m.synchronize()
	})
}

// Algorithms that need what the memory lacks refuse to run on it.
func TestMissingMemoryIsRefused(t *testing.T) {
	group{world: 2, noPeers: true}.run(t, func(m *member) error {
		for _, c := range kernels.Collectives() {
			for _, a := range c.Algorithms {
				if a.Needs.Multicast && m.enqueueAny(a) == nil {
					return fmt.Errorf("%s %s runs without a multicast address", c.Name, a.Name)
				}
			}
		}
		return m.synchronize()
	})
}
