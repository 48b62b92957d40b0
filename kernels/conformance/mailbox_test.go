package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// A mailbox cannot hold a word of all ones, which consists of NaNs. Such NaNs, alone in a word, two in a word, in a
// whole vector and on all ranks, still arrive as NaNs. All other elements have the bits that oneshot computes without
// them, on all ranks.
func TestMailboxesCarryNaNs(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range []int{2, 3} {
		pool := newRankPool(t, gridGroup(t, world))
		for _, d := range collective.EpilogueDTypes() {
			for _, op := range []collective.Op{collective.Sum, collective.Min, collective.Avg} {
				var numbers, want results
				for _, c := range slices.Concat(oneShotAndMailboxes(world), reductionsByMailboxes(world)) {
					c.in.DType, c.in.Op, c.count = d, op, 1003
					if want == nil { // one-shot is the first
						numbers, want = make(results, world), make(results, world)
						pool.run(t, numbers.of(c))
						pool.run(t, want.ofNaNs(c))
						if op != collective.Min { // which takes the other number
							wantNaNs(t, d, numbers[0], want[0])
						}
						continue
					}
					got := make(results, world)
					pool.run(t, got.ofNaNs(c))
					for rank := range world {
						if c.collective.Shape.Receives(rank, c.root) && !bytes.Equal(got[rank], want[0]) {
							t.Errorf("%s of NaNs: rank %d has other bits than by one-shot", c, rank)
						}
					}
				}
			}
		}
	}
}

// oneShotAndMailboxes is an allreduce by one-shot, and one by each algorithm with mailboxes.
func oneShotAndMailboxes(world int) []testCall {
	return calls(world, func(a *collective.Algorithm) bool {
		return a.Collective == "allreduce" && (a.Name == "oneshot" || a.Needs.Mailboxes)
	})
}

// reductionsByMailboxes are a reduce by each algorithm with mailboxes.
func reductionsByMailboxes(world int) []testCall {
	return calls(world, func(a *collective.Algorithm) bool { return a.Collective == "reduce" && a.Needs.Mailboxes })
}

// nanOf reports whether a rank's element i is a NaN of all ones.
func nanOf(rank int, i int64) bool {
	switch i % 64 {
	case 3, 10, 11:
		return rank == 1
	case 20:
		return true
	}
	return i%64 >= 40 && i%64 < 56 && rank == 0
}

// ofNaNs is a task that stores the output of a call some of whose elements are NaNs of all ones.
func (r results) ofNaNs(c testCall) func(m *member) error {
	return func(m *member) error {
		input, size := c.input(m.rank), int64(c.in.DType.Size)
		for i := range c.count {
			if nanOf(m.rank, i) {
				copy(input[i*size:], bytes.Repeat([]byte{0xff}, int(size)))
			}
		}
		if err := errors.Join(c.fill(m), m.stream.Upload(m.comm.Local(c.call(m).Send), input)); err != nil {
			return err
		}
		if err := errors.Join(c.enqueue(m), m.synchronize()); err != nil {
			return fmt.Errorf("%s of NaNs: %w", c, err)
		}
		r[m.rank] = make([]byte, c.recvBytes())
		return m.stream.Download(r[m.rank], m.comm.Local(c.call(m).Recv))
	}
}

// wantNaNs wants NaNs where some rank has a NaN, and elsewhere the same bits as in numbers.
func wantNaNs(t *testing.T, d collective.DType, numbers, got []byte) {
	t.Helper()
	nan := map[string][]byte{"half": {0xff, 0x7f}, "bfloat16": {0xff, 0x7f}, "float": {0xff, 0xff, 0xff, 0x7f}}[d.Name]
	for i := range int64(len(got) / d.Size) {
		want := numbers[i*int64(d.Size):][:d.Size]
		if nanOf(0, i) || nanOf(1, i) {
			want = nan
		}
		if !bytes.Equal(got[i*int64(d.Size):][:d.Size], want) {
			t.Errorf("%s of NaNs: element %d is %x, want %x", d.Name, i, got[i*int64(d.Size):][:d.Size], want)
		}
	}
}

// Slots are used many times: by the tiles of a launch, the last of which has data of the last rank only in
// twoshot_lamport, and by calls with other tiles, with packets and barriers in between. Stores that are late by a whole
// tile, as in disorder, overwrite nothing newer.
func TestMailboxSlotsAreReused(t *testing.T) {
	t.Parallel()
	mix := func(a *collective.Algorithm) bool {
		return a.Needs.Mailboxes || a.Collective == "allreduce" && (a.Needs.Packets || a.Name == "oneshot")
	}
	for _, seed := range seeds(12, 0, 5) {
		world := 2 + int(seed%3)
		g := group{world: world, blocks: 1 + int(seed%2), pdl: true, backend: sim.New(1, sim.Options{Seed: seed + 1})}
		g.run(t, func(m *member) error {
			every, b := calls(world, mix), batch{}
			for i := range batchCalls {
				c := every[(i*3+int(seed))%len(every)]
				if c.algorithm.Needs.Mailboxes {
					c.algorithm = inTiles(c.algorithm, []int64{16, 64, 144}[i%3])
				}
				c.in.Seed, c.in.Pattern, c.in.DType = seed+uint64(i), reference.Random, collective.EpilogueDTypes()[i%3]
				c.inPlace, c.offset = i%2 == 0 && !c.algorithm.Needs.SeparateOutput, int64(i*batchBytes)
				c.count = int64(world)*int64(50*i) + 1
				b.calls = append(b.calls, c)
			}
			return b.once(m, rand.New(rand.NewPCG(seed, uint64(m.rank))), func() error { return b.enqueue(m) })
		})
	}
}

// The same with rows, where a mailbox is emptied by other threads than those that sent its data.
func TestMailboxSlotsOfRowsAreReused(t *testing.T) {
	t.Parallel()
	const row, rows = 72, 2 // 9 vectors of half
	for _, seed := range seeds(8, 0, 5) {
		world := 2 + int(seed%3)
		g := group{world: world, blocks: 1, pdl: true, backend: sim.New(1, sim.Options{Seed: seed + 1})}
		g.run(t, func(m *member) error {
			for _, c := range oneShotAndMailboxes(world)[1:] {
				c.algorithm = inTiles(c.algorithm, rows*row*2)
				c.in.Seed, c.in.DType, c.inPlace = seed, collective.Half, seed%2 == 0
				c = c.withEpilogue(collective.RMSNorm, row)
				c.count = (8*rows*int64(world) + 1) * row
				if _, err := c.run(m); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// inTiles is an algorithm with mailboxes whose blocks take tiles of so many bytes.
func inTiles(a *collective.Algorithm, bytes int64) *collective.Algorithm {
	small := *a
	small.Enqueue = collective.TiledLaunch(&small, collective.WholePart, func(int) int64 { return bytes })
	return &small
}

// A rank that waits for a result, of a rank which itself waits for a missing rank, waits one time-out longer. So the
// first report names the rank that is really missing.
func TestWaitsForResultsExpireLater(t *testing.T) {
	t.Parallel()
	const (
		missing, reducer = 0, 2 // reducer: the rank that reduces the only vector
		timeout          = time.Second
	)
	for _, twoshot := range calls(3, func(a *collective.Algorithm) bool { return a.Name == "twoshot_lamport" }) {
		t.Run(twoshot.algorithm.Collective, func(t *testing.T) {
			twoshot.count = 4
			var gaveUp [3]time.Duration
			group{world: 3, timeout: timeout}.run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				if m.rank == missing {
					return nil
				}
				expired, err := m.expectTimeoutOf(twoshot)
				if err != nil {
					return err
				}
				gaveUp[m.rank] = m.now()
				if m.rank == reducer && expired.Peer != missing {
					return fmt.Errorf("the wrong wait is named: %w", expired)
				}
				return nil
			})
			if earlier := gaveUp[1] - gaveUp[reducer]; earlier < timeout/4 {
				t.Errorf("the wait of rank 1 expired %v after that of the rank that it waited for", earlier)
			}
		})
	}
}

// A rank waits for one time-out only. After that, the threads that wait longer, for results, and all later tiles do not
// wait any more.
func TestMailboxesTimeOutOnce(t *testing.T) {
	t.Parallel()
	const (
		missing = 2
		timeout = 2 * time.Second
	)
	for _, c := range oneShotAndMailboxes(3)[1:] {
		c.count = 500 // 125 vectors: rank 0 has one less to reduce than the others
		tiles := c
		tiles.algorithm = inTiles(c.algorithm, 64)
		for name, c := range map[string]testCall{"one tile": c, "many tiles": tiles} {
			t.Run(c.algorithm.Name+" "+name, func(t *testing.T) {
				group{world: 3, blocks: 1, timeout: timeout}.run(t, func(m *member) error {
					defer m.meet() // memory stays until all are done
					if m.rank == missing {
						return nil
					}
					began := m.now()
					_, err := m.expectTimeoutOf(c)
					if took := m.now() - began; took > timeout*7/4 {
						return fmt.Errorf("the wait expired after %v, with time-outs of %v: %w", took, timeout, err)
					}
					return err
				})
			})
		}
	}
}

// A rank that comes after the others' waits have expired either times out, or has the right result: the others have
// sent nothing that depends on an expired wait.
func TestLateRankGetsNoWrongData(t *testing.T) {
	t.Parallel()
	const late = 1
	for _, c := range calls(2, nil) {
		t.Run(c.algorithm.Collective+" "+c.algorithm.Name, func(t *testing.T) {
			c.count = 500
			group{world: 2, timeout: 300 * time.Millisecond}.run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				if err := c.fill(m); err != nil {
					return err
				}
				m.meet()
				if m.rank != late {
					defer m.meet()
				} else {
					m.meet()
				}
				if err := c.enqueue(m); err != nil {
					return err
				}
				var expired *collective.TimeoutError
				if err := m.synchronize(); err == nil {
					_, err := c.check(m)
					return err
				} else if !errors.As(err, &expired) {
					return err
				}
				return nil
			})
		})
	}
}
