package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// gathers are `count` fused gathers of a problem, each with an A and a B of its own.
func gathers(p matmul.Problem, world, count int, seed uint64) (all []matmulCall) {
	for _, o := range matmul.Operations() {
		a, ok := o.Algorithm("fused")
		if !o.Gathers || !ok {
			continue
		}
		for i := range count {
			in := product(o, p, world, reference.Exact, seed<<8|uint64(i))
			all = append(all, matmulCall{operation: o, algorithm: a, problem: p, splits: 1 + i%3, in: in})
		}
	}
	return all
}

// There is no barrier between gathers: a shard is copied after its owner has begun the call, and overwritten after all
// ranks have copied it. In disorder, copies come late and kernels early.
func TestGathersBackToBackInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(6, 0, 3) {
		world := 2 + int(seed/2)
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		p := matmul.Problem{M: 5 * int64(world), N: 8, K: 8, DType: matmul.DTypes()[seed/2%2]}
		runMatmulGroup(t, world, backend, [][]matmulCall{gathers(p, world, 8, seed)})
	}
}

// A rank comes when its peers already wait for it. Its shard has not been copied before.
func TestGatherWithALateRank(t *testing.T) {
	t.Parallel()
	const world = 3
	p := matmul.Problem{M: 4 * world, N: 8, K: 8, DType: matmul.DTypes()[0]}
	for late := range world {
		calls := gathers(p, world, 4, uint64(late))
		groupFor(world, sim.New(1, sim.Options{Major: 8 + late%2}), calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			return runMatmulsLate(m, r, calls, func() error {
				if m.rank != late {
					return nil
				}
				return awaitPeersBegin(m)
			})
		})
	}
}

// awaitPeersBegin returns when all peers have begun their first call.
func awaitPeersBegin(m *member) error {
	words := make([]byte, 4*m.world)
	for deadline := time.Now().Add(waitTimeout); ; {
		if err := m.stream.Download(words, m.comm.Local(m.sharedLayout().progress)); err != nil {
			return err
		}
		begun := 0
		for r := range m.world {
			begun += int(binary.LittleEndian.Uint32(words[4*r:]))
		}
		if begun == m.world-1 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d peers have begun", begun, m.world-1)
		}
	}
}

// Fused calls still work after their epochs wrap around.
func TestFusedEpochsWrapAround(t *testing.T) {
	t.Parallel()
	const world = 2
	for before := range uint32(4) {
		p := matmul.Problem{M: 5 * world, N: 8, K: 8, DType: matmul.DTypes()[before%2]}
		calls := append(gathers(p, world, 4, uint64(before)), fusedCalls(p, world, uint64(before))...)
		backend := sim.New(1, sim.Options{Seed: 1 + uint64(before), Major: 8 + int(before%2)})
		groupFor(world, backend, calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			r.Epoch = -before
			shared := m.sharedLayout()
			// the offset of the words of parts: after the counters, which algorithms without parts have, too
			counted := shared.counters
			for _, c := range calls {
				if f := c.algorithm.Counters; f != nil {
					counted = shared.counters + 4*f(matmul.Problem{DType: p.DType}, world)
				}
			}
			words := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, r.Epoch), int(shared.staging-counted)/4)
			if err := m.stream.Upload(m.comm.Local(counted), words); err != nil {
				return err
			}
			m.meet()
			return runMatmuls(m, r, calls)
		})
	}
}

// A rank that is missing in a gather is reported, and the calls after it end at once. No copy still waits for the rank:
// otherwise memory could not be freed.
func TestGatherWithAMissingRank(t *testing.T) {
	t.Parallel()
	for _, major := range []int{8, 9} {
		t.Run(fmt.Sprintf("%d.0", major), func(t *testing.T) {
			runWithMissingRank(t, sim.New(1, sim.Options{Major: major}), smallGather(), collective.StartBarrier,
				collective.Chunk)
		})
	}
}

// The same on a GPU, which the ranks share. Its driver waits for the copies.
func TestGatherWithAMissingRankOnGPU(t *testing.T) {
	sideBySide(t)
	runWithMissingRank(t, requireGPU(t), smallGather(), collective.StartBarrier, collective.Chunk)
}

func smallGather() matmulCall {
	const world = 3
	return gathers(matmul.Problem{M: 4 * world, N: 8, K: 8, DType: collective.Half}, world, 1, 0)[0]
}

// runWithMissingRank makes a call many times on all ranks but the last, and checks that one of these phases reports
// that rank.
func runWithMissingRank(t *testing.T, backend cudart.Backend, c matmulCall, phases ...collective.Phase) {
	t.Helper()
	runWithMissingRankOn(t, backend, 0, c, phases...)
}

// runWithMissingRankOn is runWithMissingRank on `sms` multiprocessors; 0: all.
func runWithMissingRankOn(t *testing.T, backend cudart.Backend, sms int, c matmulCall, phases ...collective.Phase) {
	t.Helper()
	const (
		count   = 30
		timeout = 2 * time.Second
		bound   = count * timeout / 2
	)
	missing := c.in.World - 1
	g := groupFor(c.in.World, backend, []matmulCall{c})
	g.timeout = timeout
	g.run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		if sms > 0 {
			r.SMs = sms
		}
		defer m.meet() // memory stays until all are done
		layout := c.layout(m.send, m.sharedLayout())
		if err := errors.Join(c.prepare(m, layout), r.Prepare(c.algorithm, layout.call)); err != nil {
			return err
		}
		m.meet()
		if m.rank == missing {
			return nil
		}
		began := m.now()
		for range count {
			if err := r.Enqueue(c.algorithm, layout.call); err != nil {
				return err
			}
		}
		return errors.Join(m.wantMissingRank(r, missing, phases), within(bound, m.now()-began))
	})
}

// wantMissingRank checks that the calls failed because a rank is missing, in one of these phases, and that the copies
// have ended.
func (m *member) wantMissingRank(r *matmul.Runner, missing int, phases []collective.Phase) error {
	var expired *collective.TimeoutError
	err := m.synchronize()
	if err := m.wantNoCopies(r); err != nil {
		return err
	}
	if !errors.As(err, &expired) {
		return fmt.Errorf("want a TimeoutError, got %w", err)
	}
	// A sender waits for the missing rank before it makes this rank's products.
	late := expired.Phase == collective.Products
	if expired.Peer != missing && !late || expired.Expected != 1 || !slices.Contains(phases, expired.Phase) {
		return fmt.Errorf("the wrong wait is named: %w", expired)
	}
	return nil
}

// wantNoCopies checks that the copies of a failed call have ended. If not, it closes the device, which ends them: to
// free memory would wait for them.
func (m *member) wantNoCopies(r *matmul.Runner) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	if err := r.Copies.Synchronize(ctx); err != nil {
		return errors.Join(fmt.Errorf("the copies of a call that failed: %w", err), m.device.Close())
	}
	return nil
}

// within returns an error if something took longer than its bound.
func within(bound, took time.Duration) error {
	if took > bound {
		return fmt.Errorf("it took %v, more than %v", took, bound)
	}
	return nil
}

// A gather whose kernel cannot be launched leaves no copy that waits.
func TestFailedLaunchReleasesCopies(t *testing.T) {
	const world = 2
	p := matmul.Problem{M: 4 * world, N: 8, K: 8, DType: collective.Half}
	calls := gathers(p, world, 1, 0)
	groupFor(world, sim.New(1, sim.Options{}), calls).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		defer m.meet() // memory stays until all are done
		if m.rank > 0 {
			return nil
		}
		layout := calls[0].layout(m.send, m.sharedLayout())
		if err := r.Prepare(calls[0].algorithm, layout.call); err != nil {
			return err
		}
		r.SMs = -1 // so that no launch has a shape that can be
		if err := r.Enqueue(calls[0].algorithm, layout.call); err == nil {
			return errors.New("a grid of -1 blocks was launched")
		}
		return errors.Join(m.synchronize(), m.wantNoCopies(r))
	})
}

// Every wait of the warp that copies the local shard is needed: without one of them, disorder makes the gathered matrix
// wrong. Buffers are used more than once, and the last chunk is short.
func TestLocalShardCopyNeedsEveryWait(t *testing.T) {
	t.Parallel()
	const world = 2
	for _, tt := range []struct {
		k            int64 // of longer rows a load that is not waited for is seldom seen, or never
		what, of, by string
	}{
		{
			168, "that a chunk has been loaded", `(?s)^(.*)mbarrier\.try_wait[^;]*;(.*wait_group\.read 0;)`,
			"${1}setp.eq.u32 ended, 0, 0;${2}",
		},
		{
			328, "that a store has read its place",
			`(bulk_group[^;]*;[^;]*commit_group;[^;]*)cp\.async\.bulk\.wait_group\.read 0;`, "$1",
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := matmul.Problem{M: 80 * world, N: 200, K: tt.k, DType: collective.Half}
			wrong := func(seed uint64, source collective.Source) error {
				calls := gathers(p, world, 1, seed)
				g := groupFor(world, sim.New(1, sim.Options{Major: 9, Seed: seed}), calls)
				g.source = source
				errs := make([]error, world)
				g.run(t, func(m *member) error {
					r, err := newRunner(m)
					if err == nil {
						errs[m.rank] = runMatmuls(m, r, calls)
					}
					return err
				})
				return errors.Join(errs...)
			}
			mutated := mutatedModule("matmul_wgmma_gathered_224_half", tt.of, tt.by)
			for seed := uint64(1); seed <= 100; seed++ {
				if err := wrong(seed, catalog); err != nil {
					t.Fatalf("seed %d, with every wait: %v", seed, err)
				}
				if err := wrong(seed, mutated); err != nil && strings.Contains(err.Error(), "gathered A") {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("no seed finds that it is missing")
		})
	}
}
