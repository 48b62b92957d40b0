package allreduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

const patience = 30 * time.Second

// guard surrounds every output; it must stay as it was.
const (
	guardBytes = 64
	guardByte  = 0xa5
)

// setup is one call with its inputs.
type setup struct {
	algorithm *collective.Algorithm
	in        reference.Input
	count     int64
	inPlace   bool
	offset    int64 // of the buffers from 16-byte alignment
	shift     int64 // of the input beyond that, out of place
}

func (s setup) String() string {
	return fmt.Sprintf("%s %s %s, %d ranks, %d elements, in place %t, offset %d+%d, pattern %d",
		s.algorithm.Name, s.in.Op, s.in.DType.Name, s.in.World, s.count, s.inPlace, s.offset, s.shift, s.in.Pattern)
}

func (s setup) bytes() int64 { return s.count * int64(s.in.DType.Size) }

func (s setup) call(m *member) collective.Call {
	c := collective.Call{
		Send: m.send + guardBytes + s.offset + s.shift, Recv: m.recv + guardBytes + s.offset,
		Count: s.count, DType: s.in.DType, Op: s.in.Op,
	}
	if s.inPlace {
		c.Send = c.Recv
	}
	return c
}

// fill writes the input, and poisons the output and its surroundings.
func (s setup) fill(m *member) error {
	call := s.call(m)
	around := bytes.Repeat([]byte{guardByte}, int(s.bytes()+2*guardBytes))
	if err := m.stream.Upload(m.comm.Local(call.Recv-guardBytes), around); err != nil {
		return err
	}
	if s.count == 0 {
		return nil
	}
	input := make([]byte, s.bytes())
	s.in.Fill(input, m.rank)
	return m.stream.Upload(m.comm.Local(call.Send), input)
}

// check compares the output with the reference and returns it.
func (s setup) check(m *member) ([]byte, error) {
	around := make([]byte, s.bytes()+2*guardBytes)
	if err := m.stream.Download(around, m.comm.Local(s.call(m).Recv-guardBytes)); err != nil {
		return nil, err
	}
	got := around[guardBytes : guardBytes+s.bytes()]
	if v := s.in.AllReduce(got); v.Wrong != 0 {
		return nil, fmt.Errorf("%s: %d wrong, first %d: want %#x, got %#x", s, v.Wrong, v.First, v.Want, v.Got)
	}
	guard := bytes.Repeat([]byte{guardByte}, guardBytes)
	if !bytes.Equal(around[:guardBytes], guard) || !bytes.Equal(around[guardBytes+s.bytes():], guard) {
		return nil, fmt.Errorf("%s: bytes around the output changed", s)
	}
	return got, nil
}

func (s setup) run(m *member) ([]byte, error) {
	if err := s.fill(m); err != nil {
		return nil, err
	}
	if err := s.algorithm.Enqueue(m.comm, m.stream, s.call(m)); err != nil {
		return nil, err
	}
	if err := m.synchronize(); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return s.check(m)
}

// counts hold nothing, less than a vector, a tail, and several tiles.
var counts = []int64{0, 1, 7, 8, 1023, 4096 + 5, 40_000 + 3}

func TestEverySizeTypeAndWorld(t *testing.T) {
	worlds := []int{1, 2, 3, 4, 5, 8, 11}
	if testing.Short() {
		worlds = []int{2, 3}
	}
	for _, world := range worlds {
		t.Run(fmt.Sprintf("%d ranks", world), func(t *testing.T) {
			runGroup(t, world, patience, everyCall)
		})
	}
}

func everyCall(m *member) error {
	// A type of each size and kind; all of them with all operations come below.
	types := []collective.DType{collective.Float, collective.BFloat16, collective.Int8, collective.UInt64}
	ops := collective.Ops()
	for _, a := range Collective().Algorithms {
		for t, d := range types {
			for i, count := range counts {
				s := setup{algorithm: a, count: count, inPlace: i%2 == 1, offset: int64(i%3) * int64(d.Size)}
				s.in = reference.Input{Seed: uint64(i), Pattern: reference.Pattern(i % 2), Op: ops[(i+t)%len(ops)], DType: d, World: m.world}
				if _, err := s.run(m); err != nil {
					return err
				}
				s.inPlace, s.offset, s.shift = !s.inPlace, 0, int64(i%2*d.Size)
				if _, err := s.run(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Every algorithm does every operation on every type.
func TestEveryOperationOnEveryType(t *testing.T) {
	runGroup(t, 3, patience, func(m *member) error {
		for _, a := range Collective().Algorithms {
			for _, d := range a.DTypes {
				for _, op := range a.Ops {
					for _, p := range []reference.Pattern{reference.Exact, reference.Random} {
						s := setup{algorithm: a, count: 300}
						s.in = reference.Input{Seed: 11, Pattern: p, Op: op, DType: d, World: m.world}
						if _, err := s.run(m); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	})
}

// All ranks hold the same bits, whatever the rounding, run after run and
// algorithm after algorithm.
func TestRanksAgreeBitwise(t *testing.T) {
	const world, repetitions = 5, 3
	results := make([][]byte, world)
	runGroup(t, world, patience, func(m *member) error {
		for _, a := range Collective().Algorithms {
			s := setup{algorithm: a, count: 5000}
			s.in = reference.Input{Seed: 9, Pattern: reference.Random, Op: collective.Sum, DType: collective.Float, World: world}
			for range repetitions {
				got, err := s.run(m)
				if err != nil {
					return err
				}
				if results[m.rank] != nil && !bytes.Equal(results[m.rank], got) {
					return fmt.Errorf("%s: the result changed from run to run", s)
				}
				results[m.rank] = bytes.Clone(got)
			}
		}
		return nil
	})
	for rank, got := range results {
		if !bytes.Equal(got, results[0]) {
			t.Errorf("ranks 0 and %d differ", rank)
		}
	}
}

// Ranks are added in the order 0, 1, ..., by vectors as well as one by one, so
// that a sum does not depend on who computes it.
func TestRanksAddInOrder(t *testing.T) {
	const count = 1003
	for _, world := range []int{2, 3, 4, 8} {
		in := reference.Input{Seed: 6, Pattern: reference.Random, Op: collective.Sum, DType: collective.Float, World: world}
		want := make([]float32, count)
		for rank := range world {
			input := make([]byte, 4*count)
			in.Fill(input, rank)
			for i := range want {
				want[i] += math.Float32frombits(binary.LittleEndian.Uint32(input[4*i:]))
			}
		}
		runGroup(t, world, patience, func(m *member) error {
			for _, a := range Collective().Algorithms {
				s := setup{algorithm: a, in: in, count: count}
				got, err := s.run(m)
				if err != nil {
					return err
				}
				for i, x := range want {
					if bits := binary.LittleEndian.Uint32(got[4*i:]); bits != math.Float32bits(x) {
						return fmt.Errorf("%s: element %d is %#x, and %#x in rank order", s, i, bits, math.Float32bits(x))
					}
				}
			}
			return nil
		})
	}
}

// Calls of all algorithms and alternating sizes follow each other on one
// buffer without a wait between them: slots, flags and epochs do not get mixed
// up. Out of place, each call gives the same sums.
func TestCallsFollowEachOtherWithoutWaiting(t *testing.T) {
	for _, world := range []int{2, 4} {
		runGroup(t, world, patience, func(m *member) error {
			s := setup{count: 30_000}
			s.in = reference.Input{Seed: 4, Pattern: reference.Exact, Op: collective.Sum, DType: collective.Half, World: world}
			if err := s.fill(m); err != nil {
				return err
			}
			for i := range 12 {
				for _, a := range Collective().Algorithms {
					call := s.call(m)
					call.Count = []int64{s.count, 40, 3001}[i%3]
					if err := a.Enqueue(m.comm, m.stream, call); err != nil {
						return err
					}
				}
			}
			s.algorithm = TwoShot()
			if err := s.algorithm.Enqueue(m.comm, m.stream, s.call(m)); err != nil {
				return err
			}
			if err := m.synchronize(); err != nil {
				return err
			}
			_, err := s.check(m)
			return err
		})
	}
}

// The naive algorithm takes what is too large for its scratch in chunks, the
// last of them short, in place as well.
func TestNaiveInChunks(t *testing.T) {
	runGroup(t, 3, patience, func(m *member) error {
		for _, inPlace := range []bool{false, true} {
			s := setup{algorithm: naiveInChunks(256), count: 1000, inPlace: inPlace}
			s.in = reference.Input{Seed: 5, Pattern: reference.Exact, Op: collective.Sum, DType: collective.Half, World: 3}
			if _, err := s.run(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// A captured graph can be replayed, with other inputs each time.
func TestGraphReplaysWithChangedInputs(t *testing.T) {
	runGroup(t, 4, patience, func(m *member) error {
		for _, a := range Collective().Algorithms {
			s := setup{algorithm: a, count: 3000}
			s.in = reference.Input{Pattern: reference.Exact, Op: collective.Sum, DType: collective.BFloat16, World: 4}
			graph, err := m.stream.Capture(func() error { return a.Enqueue(m.comm, m.stream, s.call(m)) })
			if err != nil {
				return err
			}
			for s.in.Seed = range uint64(4) {
				if err := s.fill(m); err != nil {
					return err
				}
				if err := graph.Launch(m.stream); err != nil {
					return err
				}
				if err := m.synchronize(); err != nil {
					return err
				}
				if _, err := s.check(m); err != nil {
					return fmt.Errorf("replay %d: %w", s.in.Seed, err)
				}
			}
			if err := graph.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// A rank that comes late is waited for.
func TestLateRankIsWaitedFor(t *testing.T) {
	runGroup(t, 3, patience, func(m *member) error {
		for _, a := range Collective().Algorithms {
			s := setup{algorithm: a, count: 500, inPlace: true}
			s.in = reference.Input{Pattern: reference.Exact, Op: collective.Sum, DType: collective.Float, World: 3}
			if m.rank == 1 {
				time.Sleep(100 * time.Millisecond) // the lateness under test
			}
			if _, err := s.run(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// A rank that never comes is named, with the place where it is missed, within
// the bound.
func TestMissingRankIsNamed(t *testing.T) {
	const missing = 2
	wantPhase := map[string]collective.Phase{
		"naive": collective.StartBarrier, "oneshot": collective.StageBarrier, "twoshot": collective.StartBarrier,
	}
	for _, a := range Collective().Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			// Long enough for those that do come, on the slowest of machines.
			runGroup(t, 4, 2*time.Second, func(m *member) error {
				defer m.meet() // memory stays until all are done
				if m.rank == missing {
					return nil
				}
				s := setup{algorithm: a, count: 500}
				s.in = reference.Input{Op: collective.Sum, DType: collective.Float, World: 4}
				_, err := s.run(m)
				var timeout *collective.TimeoutError
				if !errors.As(err, &timeout) {
					return fmt.Errorf("want a TimeoutError, got %w", err)
				}
				if timeout.Rank != m.rank || timeout.Peer != missing || timeout.Phase != wantPhase[a.Name] {
					return fmt.Errorf("the wrong wait is named: %w", timeout)
				}
				return nil
			})
		})
	}
}
