package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// A rank signals that it has begun, and then sends no products. Its peers time out once, and not again for each tile
// that needs them. Sums without these products are not stored.
func TestMissingProductsEndACall(t *testing.T) {
	t.Parallel()
	const (
		clusters, tilesOfEach = 2, 16 // a cluster is a block, or two of wgmma.cu
		timeout               = time.Second
	)
	for _, o := range matmul.Operations() {
		for i := range 4 {
			if !o.Reduces {
				continue
			}
			major, name := 8+i%2, []string{"fused_push", "fused_copy"}[i/2]
			t.Run(fmt.Sprintf("%s %s on %d.0", o.Name, name, major), func(t *testing.T) {
				a, _ := o.Algorithm(name)
				columns := map[int]int64{8: 128, 9: 256}[major]
				p := matmul.Problem{M: 2, N: clusters * tilesOfEach * columns, K: 8, DType: collective.Half}
				c := matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, 2, reference.Exact, 1)}
				call := missingProducts{matmulCall: c, sms: clusters * (1 + i%2), bound: tilesOfEach * timeout / 2}
				call.run(t, group{world: 2, timeout: timeout, backend: sim.New(1, sim.Options{Major: major})})
			})
		}
	}
}

// missingProducts is a call on so many multiprocessors whose rank 1 signals that it has begun, and sends no products.
//
// A kernel that waits for each tile's products takes at least a time-out for each, in simulated time: twice the bound.
type missingProducts struct {
	matmulCall
	sms   int
	bound time.Duration
}

// run makes the call in a new group.
func (c missingProducts) run(t *testing.T, g group) {
	t.Helper()
	g.bytes = max(c.layout(0, sharedLayout{}).bytes, c.stagingBytes())
	g.run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		r.SMs = c.sms
		defer m.meet() // memory stays until all are done
		layout := c.layout(m.send, m.sharedLayout())
		if err := errors.Join(c.prepare(m, layout), r.Prepare(c.algorithm, layout.call)); err != nil {
			return err
		}
		m.meet()
		if m.rank == 1 {
			p := r.Params(layout.call)
			p.Begun += 4 * uint64(m.rank)
			err := errors.Join(m.stream.WriteValue(m.comm.Peer(0, int64(p.Begun)-int64(m.comm.Local(0))), 1), m.synchronize())
			m.meet()
			return errors.Join(err, m.wantUntouched("C, which lacks its own products,", layout.call.C, layout.C))
		}
		err = missProducts(m, r, c.matmulCall, layout, c.bound)
		m.meet()
		return err
	})
}

// Calls that are enqueued after a call with a missing rank end at once, and none leaves a copy that waits: the release
// of a call's copies must not be used up by the copies of the call before.
func TestReductionsWithAMissingRank(t *testing.T) {
	// Each operation, and each generation of GPUs.
	for _, i := range inTurn([]int{0, 1, 2, 3}, 0, 3) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel() // they mostly wait
			o, _ := matmul.Find([]string{"matmul-rs", "matmul-ar"}[i/2])
			a, _ := o.Algorithm("fused_copy")
			const world = 3
			p := matmul.Problem{M: 4 * world, N: 8, K: 8, DType: collective.Half}
			c := matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Exact, 1)}
			runWithMissingRank(t, inRealTime(sim.Options{Major: 8 + i%2, Seed: uint64(i + 1)}), c, collective.StartBarrier,
				collective.Products)
		})
	}
}

// missProducts makes a call that must time out within the bound because the peers' products are missing, and leaves no
// copy that waits for them.
func missProducts(m *member, r *matmul.Runner, c matmulCall, layout layout, bound time.Duration) error {
	began := m.now()
	if err := r.Enqueue(c.algorithm, layout.call); err != nil {
		return err
	}
	var expired *collective.TimeoutError
	if err := m.synchronize(); !errors.As(err, &expired) {
		return fmt.Errorf("want a TimeoutError, got %w", err)
	}
	if expired.Phase != collective.Products || expired.Seen != 0 {
		return fmt.Errorf("the wrong wait is named: %w", expired)
	}
	if err := m.wantNoCopies(r); err != nil {
		return err
	}
	if took := m.now() - began; took > bound {
		return fmt.Errorf("the call took %v without products, more than %v", took, bound)
	}
	return nil
}
