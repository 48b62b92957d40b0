package conformance

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"gpurun/cudart/sim"
)

// The grids are the cases that others in the field test their collectives with:
// a file for each of them, a subtest for each case, run by every algorithm that
// can do it.
//
// They run on simulated devices, or, with GPURUN_TEST_DEVICE=cuda, on one GPU with
// all ranks side by side: the algorithms that need no multicast, and then the
// large sizes as well, which a simulator would take too long for and skips.

// onGPU reports whether the grids run on a GPU.
func onGPU(t testing.TB) bool {
	t.Helper()
	switch where := os.Getenv("GPURUN_TEST_DEVICE"); where {
	case "cuda":
		return true
	case "", "sim":
		return false
	default:
		t.Fatalf("GPURUN_TEST_DEVICE is %q, and may be sim or cuda", where)
		return false
	}
}

// gridGroup is a group for a grid.
func gridGroup(t *testing.T, world int) group {
	t.Helper()
	if !onGPU(t) {
		return group{world: world}
	}
	sideBySide(t)
	return group{world: world, backend: requireGPU(t)}
}

// gridCalls is a call of every algorithm of one collective, or of all if `of` is empty, that the grids' backend can
// run.
func gridCalls(t testing.TB, world int, of string) []testCall {
	t.Helper()
	var can []testCall
	for _, c := range calls(world, nil) {
		if (of == "" || c.collective.Name == of) && !(onGPU(t) && c.algorithm.Needs.Multicast) {
			can = append(can, c)
		}
	}
	return can
}

// skipLarge skips a case whose buffers are too large for the simulator.
func skipLarge(t *testing.T, bytes, most int64) {
	t.Helper()
	if bytes > most && !onGPU(t) {
		t.Skipf("%d bytes run on GPUs only: GPURUN_TEST_DEVICE=cuda", bytes)
	}
}

// rankPool is a group that runs one task after the other, so that cases share the cost of starting its ranks. A task
// that fails ends the pool, and the next task starts a new one.
type rankPool struct {
	group   group
	tasks   []chan func(m *member) error // by rank; nil while no ranks run
	clock   *sim.Clock                   // does not wait for ranks without a task
	reports chan error                   // of every rank: that it has started, and of every task
	ended   sync.WaitGroup
	errs    []error // by rank, once it has ended
}

// newRankPool makes a pool, which ends when the test ends.
func newRankPool(t *testing.T, g group) *rankPool {
	t.Helper()
	c := &rankPool{group: g.complete()}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run runs task on every rank, and fails the test with the errors of all of them.
func (c *rankPool) run(t *testing.T, task func(m *member) error) {
	t.Helper()
	if c.tasks == nil {
		c.start(t)
	}
	for _, s := range c.tasks {
		c.clock.Resume(1)
		s <- task
	}
	c.collect(t)
}

func (c *rankPool) start(t *testing.T) {
	t.Helper()
	world := c.group.world
	c.tasks, c.reports, c.errs = make([]chan func(m *member) error, world), make(chan error, world), make([]error, world)
	shared := newExchange(world)
	c.clock = shared.clock
	for rank := range world {
		tasks := make(chan func(m *member) error, 1)
		c.tasks[rank] = tasks
		c.ended.Go(func() {
			defer shared.barrier.leave()
			c.member(shared, rank, tasks)
		})
	}
	c.collect(t)
}

// member is one rank, from its start to its end.
func (c *rankPool) member(x *exchange, rank int, tasks <-chan func(m *member) error) {
	started := false
	err := c.group.runMember(x, rank, func(m *member) error {
		started = true
		c.reports <- nil
		x.clock.Pause()
		for task := range tasks {
			err := task(m)
			if err != nil {
				err = fmt.Errorf("rank %d: %w", rank, err)
			}
			c.reports <- err
			if err != nil {
				return nil
			}
			x.clock.Pause()
		}
		return nil
	})
	if !started {
		c.reports <- fmt.Errorf("starting rank %d: %w", rank, err)
		return
	}
	c.errs[rank] = err
}

// collect waits for a report of every rank.
func (c *rankPool) collect(t *testing.T) {
	t.Helper()
	errs := make([]error, c.group.world)
	for i := range errs {
		errs[i] = <-c.reports
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(errors.Join(err, c.stop()))
	}
}

// stop ends all ranks, and waits for them.
func (c *rankPool) stop() error {
	for _, s := range c.tasks {
		c.clock.Resume(1)
		close(s)
	}
	c.tasks = nil
	c.ended.Wait()
	return errors.Join(c.errs...)
}

// runCall is a task: one call, checked.
func runCall(c testCall) func(m *member) error {
	return func(m *member) error {
		_, err := c.run(m)
		return err
	}
}

// results holds outputs by rank.
type results [][]byte

// of is a task that stores the output of a call.
func (r results) of(c testCall) func(m *member) error {
	return func(m *member) (err error) {
		r[m.rank], err = c.run(m)
		return err
	}
}
