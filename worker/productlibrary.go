package worker

import (
	"gpurun/kernels/libraries"
	"gpurun/kernels/matmul"
)

// blas is the library that multiplies, if it is open.
func (r *rank) blas() matmul.BLAS {
	b, _ := r.libraries[libraries.CUBLASName].(matmul.BLAS)
	return b
}

// enqueue puts a call of the case on the stream. A library may wait for the peers in its
// first one.
func (p *productRun) enqueue(c *productContestant) error { return p.guard(c, p.runner.Enqueue) }

// prepare gets ready for calls of the case.
func (p *productRun) prepare(c *productContestant) error { return p.guard(c, p.runner.Prepare) }

// guard has the watchdog look after what a library may do.
func (p *productRun) guard(c *productContestant, do func(a *matmul.Algorithm, call matmul.Call) error) error {
	l := p.libraries[c.Algorithm.Library]
	if l == nil {
		return do(c.Algorithm, c.call)
	}
	if err := p.watchdog.begin(p.doing, false); err != nil {
		return err
	}
	defer p.watchdog.end()
	if err := do(c.Algorithm, c.call); err != nil {
		return &LibraryError{l.Title(), err}
	}
	return nil
}
