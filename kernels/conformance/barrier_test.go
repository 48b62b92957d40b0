package conformance

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// The peers see after a barrier what a rank wrote before it: every rank writes a token, and reads the tokens of all
// ranks after the barrier. A second barrier keeps a fast rank from writing the next token too early.
func TestBarrierPublishesWrites(t *testing.T) {
	t.Parallel()
	const rounds = 20
	for _, a := range []*collective.Algorithm{barrier.Flag(), barrier.Multimem()} {
		group{world: 4}.run(t, func(m *member) error {
			for round := range rounds {
				if m.rank == round%m.world {
					m.sleep(time.Millisecond) // the lateness under test
				}
				if err := m.exchangeTokens(a, byte(round+1)); err != nil {
					return fmt.Errorf("barrier %s, round %d: %w", a.Name, round, err)
				}
			}
			return nil
		})
	}
}

func (m *member) exchangeTokens(a *collective.Algorithm, token byte) error {
	if err := m.stream.Fill(m.comm.Local(m.send), token+byte(m.rank), 1); err != nil {
		return err
	}
	if err := a.Enqueue(m.comm, m.stream, barrierCall); err != nil {
		return err
	}
	want := make([]byte, m.world)
	for r := range m.world {
		want[r] = token + byte(r)
		if err := m.stream.Copy(m.comm.Local(m.recv+int64(r)), m.comm.Peer(r, m.send), 1); err != nil {
			return err
		}
	}
	if err := a.Enqueue(m.comm, m.stream, barrierCall); err != nil {
		return err
	}
	if err := m.synchronize(); err != nil {
		return err
	}
	got := make([]byte, m.world)
	if err := m.stream.Download(got, m.comm.Local(m.recv)); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("rank %d sees %v, want %v", m.rank, got, want)
	}
	return nil
}

// barrierCall is the only call that a barrier has.
var barrierCall = collective.Call{DType: collective.UInt8, Op: collective.None}
