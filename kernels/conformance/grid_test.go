package conformance

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// The grids are the cases that others in the field test their collectives with:
// a file for each of them, a subtest for each case, run by every algorithm that
// can do it.
//
// They run on simulated devices, or, with GPURUN_TEST_DEVICE=cuda, on one GPU with
// all ranks side by side: the algorithms that need no multicast, and then the
// large sizes as well, which a simulator would take too long for and skips.

// onGPU reports where the grids run.
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

// gridCalls is a call of every algorithm, of one collective or of all if it is
// "", that runs where the grids do.
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

// skipLarge skips a case whose buffers have more bytes than a simulator is given.
func skipLarge(t *testing.T, bytes, most int64) {
	t.Helper()
	if bytes > most && !onGPU(t) {
		t.Skipf("%d bytes run on GPUs only: GPURUN_TEST_DEVICE=cuda", bytes)
	}
}

// crew is a group that does one story after the other, so that cases share what
// it costs to start one. A story that fails ends it, and the next has a new one.
type crew struct {
	group   group
	stories []chan func(m *member) error // by rank; nil while nobody is there
	reports chan error                   // from every rank: that it is there, and on every story
	gone    sync.WaitGroup
	errs    []error // by rank, when it has gone
}

// newCrew makes a crew, which leaves when the test ends.
func newCrew(t *testing.T, g group) *crew {
	t.Helper()
	c := &crew{group: g.complete()}
	t.Cleanup(func() {
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run runs story on every rank, and fails the test with the errors of all of them.
func (c *crew) run(t *testing.T, story func(m *member) error) {
	t.Helper()
	if c.stories == nil {
		c.come(t)
	}
	for _, s := range c.stories {
		s <- story
	}
	c.collect(t)
}

func (c *crew) come(t *testing.T) {
	t.Helper()
	world := c.group.world
	c.stories, c.reports, c.errs = make([]chan func(m *member) error, world), make(chan error, world), make([]error, world)
	shared := newExchange(world)
	for rank := range world {
		stories := make(chan func(m *member) error, 1)
		c.stories[rank] = stories
		c.gone.Go(func() {
			defer shared.turnstile.leave()
			c.member(shared, rank, stories)
		})
	}
	c.collect(t)
}

// member is one rank from its coming to its going.
func (c *crew) member(x *exchange, rank int, stories <-chan func(m *member) error) {
	came := false
	err := c.group.runMember(x, rank, func(m *member) error {
		came = true
		c.reports <- nil
		for story := range stories {
			err := story(m)
			if err != nil {
				err = fmt.Errorf("rank %d: %w", rank, err)
			}
			c.reports <- err
			if err != nil {
				return nil
			}
		}
		return nil
	})
	if !came {
		c.reports <- fmt.Errorf("starting rank %d: %w", rank, err)
		return
	}
	c.errs[rank] = err
}

// collect takes a report of every rank.
func (c *crew) collect(t *testing.T) {
	t.Helper()
	errs := make([]error, c.group.world)
	for i := range errs {
		errs[i] = <-c.reports
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(errors.Join(err, c.leave()))
	}
}

// leave waits until all have gone.
func (c *crew) leave() error {
	for _, s := range c.stories {
		close(s)
	}
	c.stories = nil
	c.gone.Wait()
	return errors.Join(c.errs...)
}

// runCall is a story: one call, checked.
func runCall(c testCall) func(m *member) error {
	return func(m *member) error {
		_, err := c.run(m)
		return err
	}
}

// results holds what a story leaves with the ranks, by rank.
type results [][]byte

// of is a story that keeps the output of a call.
func (r results) of(c testCall) func(m *member) error {
	return func(m *member) (err error) {
		r[m.rank], err = c.run(m)
		return err
	}
}
