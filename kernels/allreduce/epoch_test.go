package allreduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// Epochs wrap around: after 2^32 barriers, flags and slots go on as before.
func TestEpochsWrapAround(t *testing.T) {
	for before := range uint32(4) {
		runGroup(t, 3, patience, func(m *member) error {
			if err := m.stream.Upload(m.comm.Local(0), padAtEpoch(-before)); err != nil {
				return err
			}
			m.meet()
			for i := range 3 {
				for _, a := range Collective().Algorithms {
					s := setup{algorithm: a, count: 20_000}
					s.in = reference.Input{Seed: uint64(i), Op: collective.Sum, DType: collective.Float, World: m.world}
					if _, err := s.run(m); err != nil {
						return fmt.Errorf("%d epochs before the end: %w", before, err)
					}
				}
			}
			return nil
		})
	}
}

// padAtEpoch is a signal pad of ranks that have met so often.
func padAtEpoch(epoch uint32) []byte {
	word := binary.LittleEndian.AppendUint32(nil, epoch)
	epochs := bytes.Repeat(word, collective.MaxBlocks)
	flags := bytes.Repeat(word, collective.MaxBlocks*collective.MaxRanks)
	between := make([]byte, int(collective.SignalPadBytes)-len(epochs)-len(flags))
	return bytes.Join([][]byte{epochs, between, flags}, nil)
}

// Launches that were enqueued before a wait expired return at once, and the
// first wait that expired is still the one that is named.
func TestLaunchesAfterATimeoutReturnAtOnce(t *testing.T) {
	const (
		missing, launches = 1, 100
		timeout           = 200 * time.Millisecond
		bound             = launches * timeout / 4
	)
	for _, a := range Collective().Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			runGroup(t, 3, timeout, func(m *member) error {
				defer m.meet() // memory stays until all are done
				if m.rank == missing {
					return nil
				}
				s := setup{algorithm: a, count: 5000}
				s.in = reference.Input{Op: collective.Sum, DType: collective.Half, World: m.world}
				began := time.Now()
				for range launches {
					if err := a.Enqueue(m.comm, m.stream, s.call(m)); err != nil {
						return err
					}
				}
				var expired *collective.TimeoutError
				if err := m.synchronize(); !errors.As(err, &expired) || expired.Expected != 1 {
					return fmt.Errorf("want the first wait that expired, got %w", err)
				}
				if took := time.Since(began); took > bound {
					return fmt.Errorf("%d launches after one that timed out took %v", launches-1, took)
				}
				return nil
			})
		})
	}
}
