package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// A missing rank is reported with the phase of the wait, within the time-out.
func TestMissingRankIsNamed(t *testing.T) {
	t.Parallel()
	const missing = 2
	forEachAlgorithm(t, func(t *testing.T, a *collective.Algorithm) {
		group{world: 4, timeout: time.Second}.run(t, func(m *member) error {
			defer m.meet() // memory stays until all are done
			if m.rank == missing {
				return nil
			}
			timeout, err := m.expectTimeout(a)
			if err != nil {
				return err
			}
			want := collective.TimeoutError{Rank: m.rank, Peer: missing, Phase: firstWait(a)}
			if want.Phase == collective.MulticastBarrier {
				want.Peer = collective.MaxRanks // a counter of arrivals does not show which rank is missing
			}
			if a.Collective == "reduce" && a.Name == "twoshot_lamport" && m.rank == 0 {
				want.Peer = timeout.Peer // the root waits for results only: TestWaitsForResultsExpireLater
			}
			if timeout.Rank != want.Rank || timeout.Peer != want.Peer || timeout.Phase != want.Phase {
				return fmt.Errorf("the wrong wait is named: %w", timeout)
			}
			return nil
		})
	})
}

// expectTimeout makes a call of the algorithm that must time out.
func (m *member) expectTimeout(a *collective.Algorithm) (*collective.TimeoutError, error) {
	if err := m.enqueueAny(a); err != nil {
		return nil, err
	}
	return m.wantTimeout()
}

// expectTimeoutOf makes a call that must time out.
func (m *member) expectTimeoutOf(c testCall) (*collective.TimeoutError, error) {
	if err := c.enqueue(m); err != nil {
		return nil, err
	}
	return m.wantTimeout()
}

// wantTimeout waits for the stream, and returns the time-out that a kernel reported.
func (m *member) wantTimeout() (*collective.TimeoutError, error) {
	var timeout *collective.TimeoutError
	if err := m.synchronize(); err == nil {
		return nil, errors.New("want a TimeoutError, and nothing failed")
	} else if !errors.As(err, &timeout) {
		return nil, fmt.Errorf("want a TimeoutError, got %w", err)
	}
	return timeout, nil
}

// enqueueAny enqueues a call of the algorithm.
func (m *member) enqueueAny(a *collective.Algorithm) error {
	c, _ := kernels.Find(a.Collective)
	call := collective.Call{Send: m.send, Recv: m.recv, Count: 500, DType: collective.Float, Op: collective.None}
	if c.Shape.Reduces {
		call.Op = collective.Sum
	}
	return a.Enqueue(m.comm, m.stream, call)
}

// firstWait is the phase in which an algorithm first waits for its peers.
func firstWait(a *collective.Algorithm) collective.Phase {
	switch {
	case a.Needs.Packets, a.Needs.Mailboxes:
		return collective.Packets
	case a.Name == "oneshot", a.Name == "twoshot_push":
		return collective.StageBarrier
	case a.Collective == "barrier" && a.Needs.Multicast:
		return collective.MulticastBarrier
	}
	return collective.StartBarrier
}

// No rank writes to the output of a missing rank: its memory may be in use.
func TestOutputOfAMissingRankIsNotWritten(t *testing.T) {
	t.Parallel()
	const missing = 0 // the root, where there is one
	forEachAlgorithm(t, func(t *testing.T, a *collective.Algorithm) {
		group{world: 3, timeout: 200 * time.Millisecond}.run(t, func(m *member) error {
			untouched := bytes.Repeat([]byte{guardByte}, int(m.bytes))
			if err := m.stream.Upload(m.comm.Local(m.recv), untouched); err != nil {
				return err
			}
			m.meet()
			defer m.meet() // memory stays until all are done
			if m.rank != missing {
				_, err := m.expectTimeout(a)
				m.meet()
				return err
			}
			m.meet()
			got := make([]byte, m.bytes)
			if err := m.stream.Download(got, m.comm.Local(m.recv)); err != nil {
				return err
			}
			if !bytes.Equal(got, untouched) {
				return errors.New("its output was written to")
			}
			return nil
		})
	})
}

// Epochs wrap around: after 2^32 barriers, flags and slots still work.
func TestEpochsWrapAround(t *testing.T) {
	t.Parallel()
	for _, before := range inTurn([]uint32{0, 1, 2, 3}, 1, 2) {
		group{world: 3}.run(t, func(m *member) error {
			if err := m.stream.Upload(m.comm.Local(0), padAtEpoch(-before)); err != nil {
				return err
			}
			m.meet()
			for i := range 3 {
				for _, c := range calls(m.world, nil) {
					c.count, c.in.Seed = c.fit(20_000), uint64(i)
					if _, err := c.run(m); err != nil {
						return fmt.Errorf("%d epochs before the end: %w", before, err)
					}
				}
			}
			return nil
		})
	}
}

// padAtEpoch is a signal pad of ranks whose blocks are at that epoch.
func padAtEpoch(epoch uint32) []byte {
	word := binary.LittleEndian.AppendUint32(nil, epoch)
	epochs := bytes.Repeat(word, collective.MaxBlocks)
	flags := bytes.Repeat(word, collective.MaxBlocks*collective.MaxRanks)
	between := make([]byte, int(collective.SignalPadBytes)-len(epochs)-len(flags))
	return bytes.Join([][]byte{epochs, between, flags}, nil)
}

// Launches that were enqueued before a wait expired return at once. The report is still that of the first wait that
// expired.
func TestLaunchesAfterATimeoutReturnAtOnce(t *testing.T) {
	t.Parallel()
	const (
		missing, launches = 1, 100
		timeout           = 200 * time.Millisecond
		bound             = launches * timeout / 4
	)
	forEachAlgorithm(t, func(t *testing.T, a *collective.Algorithm) {
		group{world: 3, timeout: timeout}.run(t, func(m *member) error {
			defer m.meet() // memory stays until all are done
			if m.rank == missing {
				return nil
			}
			began := m.now()
			for range launches - 1 {
				if err := m.enqueueAny(a); err != nil {
					return err
				}
			}
			expired, err := m.expectTimeout(a)
			if err != nil {
				return err
			}
			if expired.Expected != 1 && a.Name != "multimem" {
				return fmt.Errorf("want the first wait that expired, got %w", expired)
			}
			if took := m.now() - began; took > bound {
				return fmt.Errorf("%d launches after one that timed out took %v", launches-1, took)
			}
			return nil
		})
	})
}
