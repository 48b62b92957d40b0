package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// fusedKinds is a fused call of each kind: a gather, pushed products, and copied products.
func fusedKinds(p matmul.Problem, world int) (all []matmulCall) {
	for _, o := range matmul.Operations() {
		names := []string{"fused"}
		if o.Reduces {
			names = []string{"fused_push", "fused_copy"}
		}
		for _, name := range names {
			a, _ := o.Algorithm(name)
			in := product(o, p, world, reference.Exact, uint64(len(all)))
			all = append(all, matmulCall{operation: o, algorithm: a, problem: p, splits: 2, in: in})
		}
	}
	return all
}

// failedCalls are calls of two ranks that fail: the first because a rank is late, the others because the first has
// failed. Each has buffers of its own.
type failedCalls struct {
	calls   []matmulCall
	layouts []layout
	// missed is the phase in which the late rank reports the failed one.
	missed collective.Phase
}

// untouched fills memory that the calls must not write to.
const untouched = 0xff

// After a time-out, a rank neither stores to its peer nor counts anything there, in that call and in the calls enqueued
// after it, of every kind. The late peer reports a time-out in the first call. A call has several tiles one after the
// other, so that its copies have been released when the kernel comes to the last tiles.
func TestFailedRankSendsNothing(t *testing.T) {
	t.Parallel()
	const world, columns = 2, 256
	p := matmul.Problem{M: 2 * world, N: 8 * columns, K: 8, DType: collective.Half}
	for _, first := range fusedKinds(p, world) {
		for _, major := range []int{8, 9} {
			t.Run(fmt.Sprintf("%s %s on %d.0", first.operation.Name, first.algorithm.Name, major), func(t *testing.T) {
				f := failedCalls{calls: slices.Insert(fusedKinds(p, world), 0, first), missed: collective.Products}
				if first.operation.Gathers {
					f.missed = collective.EndBarrier
				}
				g := groupFor(world, sim.New(1, sim.Options{Major: major}), f.calls)
				g.timeout = time.Second
				g.run(t, f.task)
			})
		}
	}
}

// task makes the calls; rank 1 makes them after the waits of rank 0 have expired.
func (f failedCalls) task(m *member) error {
	r, err := newRunner(m)
	if err != nil {
		return err
	}
	defer m.meet() // memory stays until all are done
	r.SMs = 2      // a cluster
	if f, err = f.prepare(m, r); err != nil {
		return err
	}
	m.meet()
	if m.rank == 0 {
		_, err := f.fail(m, r)
		m.meet()
		return err
	}
	m.meet()
	if err := f.checkLeftAlone(m, r); err != nil {
		return err
	}
	expired, err := f.fail(m, r)
	if err == nil && (expired.Phase != f.missed || expired.Expected != 1) {
		return fmt.Errorf("the wrong wait is named: %w", expired)
	}
	return err
}

// prepare gives the calls buffers, writes all inputs, and poisons the memory that must not be written to.
func (f failedCalls) prepare(m *member, r *matmul.Runner) (failedCalls, error) {
	shared, at := m.sharedLayout(), m.send
	f.layouts = nil
	for _, c := range f.calls {
		layout := c.layout(at, shared)
		f.layouts, at = append(f.layouts, layout), at+layout.bytes
		err := errors.Join(
			c.prepare(m, layout), r.Prepare(c.algorithm, layout.call),
			m.stream.Fill(m.comm.Local(shared.staging), untouched, f.stagingBytes()),
		)
		if err != nil {
			return f, err
		}
	}
	return f, m.synchronize()
}

// stagingBytes is the largest staging of the calls.
func (f failedCalls) stagingBytes() (most int64) {
	for _, c := range f.calls {
		if c.algorithm.Staging != nil {
			most = max(most, c.algorithm.Staging(c.problem, c.in.World))
		}
	}
	return most
}

// fail makes all calls, and checks that the first has failed, that the others have done nothing, and that all copies
// have ended.
func (f failedCalls) fail(m *member, r *matmul.Runner) (*collective.TimeoutError, error) {
	for i, c := range f.calls {
		if err := r.Enqueue(c.algorithm, f.layouts[i].call); err != nil {
			return nil, err
		}
	}
	var expired *collective.TimeoutError
	err := m.synchronize()
	if err := m.wantNoCopies(r); err != nil {
		return nil, err
	}
	if !errors.As(err, &expired) {
		return nil, fmt.Errorf("want a TimeoutError, got %w", err)
	}
	for i, layout := range f.layouts[1:] {
		if err := m.wantUntouched(fmt.Sprintf("C of %s, behind a call that failed,", f.calls[i+1]), layout.call.C,
			layout.C); err != nil {
			return nil, err
		}
	}
	return expired, nil
}

// checkLeftAlone checks rank 1's memory: rank 0 has signaled nothing but that it has begun the first call, and the
// gathers, whose streams signal that.
func (f failedCalls) checkLeftAlone(m *member, r *matmul.Runner) error {
	begun := uint32(1)
	for i, c := range f.calls {
		if c.operation.Gathers {
			begun = uint32(i + 1)
		}
	}
	call := f.layouts[0].call
	p, base := r.Params(call), int64(m.comm.Local(0))
	words := make([]byte, 8)
	err := errors.Join(
		m.stream.Download(words[:4], m.comm.Local(int64(p.Begun)-base)),
		m.stream.Download(words[4:], m.comm.Local(int64(p.Copied)-base)),
	)
	if err != nil {
		return err
	}
	if ready, taken := binary.LittleEndian.Uint32(words),
		binary.LittleEndian.Uint32(words[4:]); ready != begun || taken != 0 {
		return fmt.Errorf("rank 0 says that it has begun call %d and taken what it gets in call %d, want %d and 0", ready,
			taken, begun)
	}
	shared := m.sharedLayout()
	counters := make([]byte, shared.progress-shared.counters)
	if err := m.stream.Download(counters, m.comm.Local(shared.counters)); err != nil {
		return err
	}
	if at := slices.IndexFunc(counters, func(b byte) bool { return b != 0 }); at >= 0 {
		return fmt.Errorf("rank 0 has counted something by word %d", at/4)
	}
	for i, layout := range f.layouts {
		if err := m.wantUntouched(fmt.Sprintf("C of %s", f.calls[i]), layout.call.C, layout.C); err != nil {
			return err
		}
	}
	return m.wantUntouched("the staging", shared.staging, f.stagingBytes())
}

// wantUntouched returns an error if poisoned memory has been written to.
func (m *member) wantUntouched(name string, at, size int64) error {
	got := make([]byte, size)
	if err := m.stream.Download(got, m.comm.Local(at)); err != nil {
		return err
	}
	if !bytes.Equal(got, bytes.Repeat([]byte{untouched}, int(size))) {
		return fmt.Errorf("%s was written to on rank %d", name, m.rank)
	}
	return nil
}

// A failed call releases its copies by a word. A peer that signals late that it has begun an earlier call overwrites
// that word; the copies still end. In disorder, copies begin to wait after the word has been written and overwritten.
func TestReleasedCopiesStayReleased(t *testing.T) {
	const world = 2
	p := matmul.Problem{M: 4 * world, N: 8, K: 8, DType: collective.Half}
	calls := append(gathers(p, world, 1, 0), copiedCalls(p, world)...)
	if exhaustive() { // each call on both generations of GPUs
		calls = slices.Repeat(calls, 2)
	}
	for i, call := range calls {
		major := 8 + i%2
		t.Run(fmt.Sprintf("%s on %d.0", call.operation.Name, major), func(t *testing.T) {
			t.Parallel() // they mostly wait
			f := failedCalls{calls: slices.Repeat([]matmulCall{call}, 10)}
			g := groupFor(world, inRealTime(sim.Options{Major: major, Seed: uint64(i + 1)}), f.calls)
			g.timeout = time.Second
			var done atomic.Bool
			g.run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				defer m.meet() // memory stays until all are done
				f, err := f.prepare(m, r)
				if err != nil {
					return err
				}
				m.meet()
				if m.rank == 0 {
					defer done.Store(true)
					_, err := f.fail(m, r)
					return err
				}
				said := r.Params(f.layouts[0].call).Begun // what copies wait for
				if call.operation.Reduces {
					said = r.Params(f.layouts[0].call).Produced
				}
				word := m.comm.Peer(0, int64(said)-int64(m.comm.Local(0))+4)
				for !done.Load() {
					if err := errors.Join(m.stream.WriteValue(word, 1), m.synchronize()); err != nil {
						return err
					}
					time.Sleep(200 * time.Microsecond) // the rank that releases the copies needs a processor, too
				}
				return nil
			})
		})
	}
}
