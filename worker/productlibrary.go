package worker

import (
	"cmp"
	"slices"

	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/matmul"
)

// libraries names those that algorithms of the requests need. "auto" takes none of
// others.
func (p products) libraries() (names []string) {
	for _, q := range p.requests {
		a, ok := q.operation.Algorithm(q.asked)
		if !ok {
			continue
		}
		for _, name := range a.Libraries() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// lacking says why a library of others cannot be used, or returns "".
func (s surroundings) lacking(name string) string {
	if _, open := s.libraries[name]; !open {
		return cmp.Or(s.missing[name], "the library is not open")
	}
	return s.missing[name]
}

// blas is the library that multiplies, if it is open.
func (r *rank) blas() matmul.BLAS {
	b, _ := r.libraries[libraries.CUBLASName].(matmul.BLAS)
	return b
}

// awaited is the case as one whose work on the stream is waited for: within the timeout,
// if a library of others does it.
func (c productCase) awaited() testCase {
	return testCase{algorithm: &collective.Algorithm{Needs: collective.Needs{Library: c.algorithm.Library}}}
}

// enqueue puts a call of the case on the stream. A library may wait for the peers in its
// first one.
func (p *productRun) enqueue(c *productContestant) error { return p.guard(c, p.runner.Enqueue) }

// prepare gets ready for calls of the case.
func (p *productRun) prepare(c *productContestant) error { return p.guard(c, p.runner.Prepare) }

// guard has the watchdog look after what a library may do.
func (p *productRun) guard(c *productContestant, do func(a *matmul.Algorithm, call matmul.Call) error) error {
	l := p.libraries[c.algorithm.Library]
	if l == nil {
		return do(c.algorithm, c.call)
	}
	if err := p.watchdog.begin(p.doing, false); err != nil {
		return err
	}
	defer p.watchdog.end()
	if err := do(c.algorithm, c.call); err != nil {
		return &LibraryError{l.Title(), err}
	}
	return nil
}
