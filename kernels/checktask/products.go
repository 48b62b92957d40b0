package checktask

import (
	"context"
	"errors"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// Products are calls of an algorithm for products of matrices: so many of each problem, in one stream, in the order of
// [Calls]. The zero values of optional fields stand for what their comments say.
type Products struct {
	Operation *matmul.Operation
	Algorithm *matmul.Algorithm
	Problems  []matmul.Problem
	Launches  int               // calls of each problem, one behind the other
	MaxBlocks int               // bound of every grid; 0: none. On compute capability 9.0 at least a cluster of two
	Source    collective.Source // of modules by name; nil: those of gpurun
	Seed      uint64            // of the inputs
	// PDL uses programmatic dependent launch for kernels that support it. Each call is then made twice, one
	// right behind the other, so that they overlap.
	PDL bool
}

// Task is what a rank does. Its wrong results are findings of the run.
func (p *Products) Task(on *check.Rank) (err error) {
	m := &multiplier{Products: p, Rank: on, timeout: timeout}
	if err := m.join(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.comm.Close()) }()
	if err := m.prepare(); err != nil {
		return err
	}
	// Peers signal and write here from now on.
	if err := on.Meet(); err != nil {
		return err
	}
	for number := range p.total() {
		if err := m.enqueue(number); err != nil {
			return err
		}
	}
	if err := errors.Join(m.runner.Main.Synchronize(context.Background()), m.comm.Err()); err != nil {
		return err
	}
	// Peers may still read here, so that all have to come before one ends.
	return errors.Join(m.compare(), m.compareRestored(), on.Meet())
}

// total is the number of calls.
func (p *Products) total() int { return len(p.Problems) * p.Launches }

// problem is that of a call, and its number.
func (p *Products) problem(call int) (matmul.Problem, int) {
	n := sizeOfCall(call, len(p.Problems), p.Launches)
	return p.Problems[n], n
}

// ProblemFor is a problem with the rows of another, or the next greater number of rows that the algorithm takes among
// so many ranks.
func (p *Products) ProblemFor(problem matmul.Problem, world int) (matmul.Problem, error) {
	const most = 1 << 12 // rows, of which the number may have to be a multiple: more than any tile has, for each rank
	accept := func(problem matmul.Problem) error {
		if err := p.Operation.Check(problem, world); err != nil {
			return err
		}
		if err := p.Algorithm.Check(problem, world); err != nil || p.Algorithm.Areas == nil {
			return err
		}
		_, err := p.Algorithm.Areas(problem, world, 1)
		return err
	}
	first := accept(problem)
	if first == nil {
		return problem, nil
	}
	for more := range int64(most) {
		next := problem
		if next.M += more; accept(next) == nil {
			return next, nil
		}
	}
	return problem, first
}
