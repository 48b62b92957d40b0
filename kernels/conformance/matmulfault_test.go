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
				err := errTooSlow
				for attempt := 0; attempt < 5 && errors.Is(err, errTooSlow); attempt++ {
					err = call.attempt(t, group{world: 2, timeout: timeout, backend: sim.New(1, sim.Options{Major: major})})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// errTooSlow says that a call took longer than its bound.
//
// A kernel that misses each tile takes at least a timeout for each, which is twice the bound, on any machine. So a
// call within the bound has waited once, in whichever attempt. A loaded machine can only make a correct call slow.
var errTooSlow = errors.New("the call took too long")

// missingProducts is a call on so many multiprocessors whose rank 1 signals that it has begun, and sends no products.
type missingProducts struct {
	matmulCall
	sms   int
	bound time.Duration
}

// attempt makes the call in a new group. It returns errTooSlow or nil; all other errors end the test.
func (c missingProducts) attempt(t *testing.T, g group) error {
	t.Helper()
	g.bytes = max(c.layout(0, sharedLayout{}).bytes, c.stagingBytes())
	var tooSlow error
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
		if errors.Is(err, errTooSlow) {
			tooSlow, err = err, nil
		}
		return err
	})
	return tooSlow
}

// Calls that are enqueued after a call with a missing rank end at once, and none leaves a copy that waits: the release
// of a call's copies must not be used up by the copies of the call before.
func TestReductionsWithAMissingRank(t *testing.T) {
	for i := range 4 {
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
		return fmt.Errorf("%w: %v without products, more than %v", errTooSlow, took, bound)
	}
	return nil
}
