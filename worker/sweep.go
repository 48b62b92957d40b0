package worker

import (
	"context"
	"fmt"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// sweep is the job in terms of the catalog.
type sweep struct {
	collective *collective.Collective
	requests   []request
	cases      []testCase // of the requests, once algorithms are chosen
}

// request is one call that the job asks for.
type request struct {
	algorithm string          // a name, or "auto"
	call      collective.Call // but for the places of its buffers
}

// UsageError is a job that makes no sense.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// plan turns the job's words into requests.
func (r *rank) plan() (err error) {
	r.sweep, err = planSweep(r.Job, r.WorldSize)
	return err
}

// Check says why a job cannot run on so many ranks, whatever their devices, as
// a *UsageError, or nil.
func (j Job) Check(world int) error {
	_, err := planSweep(j, world)
	return err
}

func planSweep(job Job, world int) (sweep, error) {
	c, ok := kernels.Find(job.Collective)
	if !ok {
		return sweep{}, usagef("there is no collective %q", job.Collective)
	}
	s := sweep{collective: c}
	p, err := job.parse(c, world)
	if err != nil {
		return sweep{}, err
	}
	for range max(job.Cycles, 1) {
		for _, algorithm := range job.Algorithms {
			if err := s.add(job, world, algorithm, p); err != nil {
				return sweep{}, err
			}
		}
	}
	return s, job.checkInjections(c.Shape, world, s.requests)
}

// add appends the requests for an algorithm.
func (s *sweep) add(job Job, world int, algorithm string, p parsed) error {
	for _, blocks := range p.blocks {
		for _, d := range p.dtypes {
			for _, op := range p.ops {
				for _, bytes := range p.sizes {
					q := request{algorithm, collective.Call{
						Count: job.count(s.collective.Shape, world, d, bytes), DType: d, Op: op, Root: job.Root,
						Epilogue: p.epilogue, Blocks: blocks,
					}}
					if err := s.check(q, world, job.offset(d)); err != nil {
						return err
					}
					s.requests = append(s.requests, q)
				}
			}
		}
	}
	return nil
}

// check says what no device could change about a request. "auto" is satisfied
// with any algorithm; the complaint is then about the one for the size.
func (s *sweep) check(q request, world int, offset int64) error {
	q.call.Send, q.call.Recv = offset, offset
	if q.algorithm == auto {
		for _, a := range s.collective.Algorithms {
			if a.Check(q.call, world) == nil {
				return nil
			}
		}
		q.algorithm = s.collective.Choose(world, q.call)
	}
	a, ok := s.collective.Algorithm(q.algorithm)
	if !ok {
		return usagef("%s has no algorithm %q", s.collective.Name, q.algorithm)
	}
	if err := a.Check(q.call, world); err != nil {
		return &UsageError{err.Error()}
	}
	return nil
}

// runSweep makes all measurements, in step with the peers.
func (r *rank) runSweep(ctx context.Context) error {
	for i, c := range r.sweep.cases {
		if err := r.Reports.Progress(i, len(r.sweep.cases)); err != nil {
			return err
		}
		if hopeless, err := r.hopeless(ctx, c); err != nil {
			return err
		} else if hopeless {
			continue
		}
		mine, err := r.measure(ctx, c)
		if err != nil { // the phase names the case
			return err
		}
		if err := r.share(ctx, c, mine); err != nil {
			return err
		}
	}
	return nil
}
