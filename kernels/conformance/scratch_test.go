package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"gpurun/kernels/collective"
)

// A call writes to no more scratch than its algorithm asks for, on any rank: the buffers lie behind the scratch.
func TestScratchIsEnough(t *testing.T) {
	t.Parallel()
	staged := func(a *collective.Algorithm) bool { return a.ScratchBytes != nil }
	for _, world := range inTurn([]int{1, 2, 3, 5}, 0, 2) {
		group{world: world, bytes: 1 << 16}.run(t, func(m *member) error {
			for _, c := range calls(world, staged) {
				for _, c.count = range sample([]int64{1, 4, 5, 64, 67, 1021}, 2, 5) {
					if err := c.staysInScratch(m); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// staysInScratch makes a call, and checks the memory behind the scratch that it needs.
func (c testCall) staysInScratch(m *member) error {
	needs := c.algorithm.ScratchBytes(m.world, c.partBytes())
	behind := make([]byte, m.send-m.comm.Scratch()-needs)
	at := m.comm.Local(m.comm.Scratch() + needs)
	if err := m.stream.Fill(at, guardByte, int64(len(behind))); err != nil {
		return err
	}
	if err := c.fill(m); err != nil {
		return err
	}
	m.meet() // a peer may write here as soon as it has begun
	if err := c.enqueue(m); err != nil {
		return err
	}
	if err := m.synchronize(); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	m.meet()
	if err := m.stream.Download(behind, at); err != nil {
		return err
	}
	if bytes.Count(behind, []byte{guardByte}) != len(behind) { // faster than a search
		i := slices.IndexFunc(behind, func(b byte) bool { return b != guardByte })
		return fmt.Errorf("%s: byte %d behind the %d of scratch that it asks for has changed", c, i, needs)
	}
	_, err := c.check(m)
	return err
}
