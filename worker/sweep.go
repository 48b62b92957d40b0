package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/symm"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/worker/phases"
)

// sweep is the job in terms of the catalog.
type sweep struct {
	collective *collective.Collective
	requests   []request
	cases      []testCase // of the requests, once algorithms are chosen
	products   products   // of a job that is about them
	// spansMachines: the ranks are on several machines.
	spansMachines bool
}

// request is one call that the job asks for.
type request struct {
	algorithm string // a name, or "auto"
	// call has its buffers' distance from their alignment in the place of their
	// offsets.
	call collective.Call
	// bytes are the size that is asked for; the call's own may be a little less.
	bytes int64
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
	switch {
	case job.Pairs:
		return sweep{}, job.checkPairs(world)
	case job.Products != nil:
		products, err := job.planProducts(world)
		return sweep{products: products}, err
	}
	c, ok := kernels.Find(job.Collective)
	if !ok {
		return sweep{}, usagef("there is no collective %q", job.Collective)
	}
	s := sweep{collective: c, spansMachines: job.spansMachines()}
	if c.Shape.Empty && job.spansMachines() {
		return sweep{}, usagef("%s is proved by what ranks read of each other's memory, and so runs within one machine", c.Name)
	}
	p, err := job.parse(c, world)
	if err != nil {
		return sweep{}, err
	}
	for _, algorithm := range job.Algorithms {
		if err := s.add(job, world, algorithm, p); err != nil {
			return sweep{}, err
		}
	}
	return s, job.checkInjections(c.Shape, world, s.requests)
}

// add appends the requests for an algorithm.
func (s *sweep) add(job Job, world int, algorithm string, p parsed) error {
	call := collective.Call{Root: job.Root, Epilogue: p.epilogue}
	for _, call.Blocks = range p.blocks {
		for _, call.DType = range p.dtypes {
			call.Send, call.Recv = job.offset(call.DType), job.offset(call.DType)
			for _, call.Op = range p.ops {
				for _, bytes := range p.sizes {
					call.Count = job.count(s.collective.Shape, world, call.DType, bytes)
					if err := s.check(job, algorithm, call, world); err != nil {
						return err
					}
					s.requests = append(s.requests, request{algorithm, call, bytes})
				}
			}
		}
	}
	return nil
}

// check says what no device could change about a request. "auto" is satisfied
// with any algorithm; the complaint is then about the one for the size.
func (s *sweep) check(job Job, algorithm string, call collective.Call, world int) error {
	if algorithm == auto {
		candidates := automatic(s.collective, job.spansMachines())
		for _, a := range candidates {
			if a.Check(call, world) == nil && job.contradicts(s.collective, a, call) == nil {
				return nil
			}
		}
		if algorithm = s.collective.Choose(world, call); job.spansMachines() && len(candidates) > 0 {
			algorithm = candidates[0].Name
		}
	}
	a, ok := s.collective.Algorithm(algorithm)
	if !ok {
		return usagef("%s has no algorithm %q", s.collective.Name, algorithm)
	}
	if err := a.Check(call, world); err != nil {
		return &UsageError{err.Error() + job.able(s.collective, call, world)}
	}
	if slices.Contains(job.Optional, algorithm) {
		return nil
	}
	return job.contradicts(s.collective, a, call)
}

// able says which of gpurun's own algorithms can do a call, behind why another cannot; it is
// empty where none can.
func (j Job) able(c *collective.Collective, call collective.Call, world int) string {
	var names []string
	for _, a := range c.Algorithms {
		if a.Needs.Library == "" && a.Check(call, world) == nil && j.contradicts(c, a, call) == nil {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, " or ") + " can"
}

// contradicts refuses an algorithm that is named together with a setting that
// rules it out.
func (j Job) contradicts(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	switch {
	case j.spansMachines() && a.Needs.Library == "":
		return &UsageError{withinOneMachine(c, a)}
	case j.P2P == off && a.Needs.Peers:
		return usagef("%s needs peer access, and p2p is off; %s can do without", name, withoutPeers(c))
	case j.Multicast == off && a.Needs.Multicast:
		return usagef("%s needs multicast addresses, and multicast is off", name)
	case a.Needs.Multicast && (j.Symm == string(symm.IPC) || j.Symm == string(symm.Host)):
		return usagef("%s needs multicast addresses, which memory shared by %s has not: --symm auto or vmm", name, j.Symm)
	case a.Needs.Peers && j.Symm == string(symm.Host):
		return usagef("%s needs the peers' own memory, and symm is host; %s can do without", name, withoutPeers(c))
	case a.Needs.Library == string(symm.NVSHMEMHeap) && j.Symm != "" && j.Symm != auto && j.Symm != a.Needs.Library:
		return usagef("%s works on NVSHMEM's own memory alone: leave --symm at auto", name)
	case j.PDL == on && !a.HasPDL(call):
		return usagef("%s has no kernel for programmatic dependent launch: leave --pdl at auto", name)
	}
	return nil
}

// runSweep makes all measurements, in step with the peers, in every cycle again.
func (r *rank) runSweep(ctx context.Context) error {
	if r.Job.Rounds > 0 {
		return r.runRounds(ctx)
	}
	cycles, done := max(r.Job.Cycles, 1), 0
	for range cycles {
		for _, c := range r.sweep.cases {
			if err := r.Reports.Progress(done, cycles*len(r.sweep.cases)); err != nil {
				return err
			}
			if err := r.runCase(ctx, c); err != nil { // the phase names the case
				return err
			}
			r.Phases.Begin(phases.Cases)
			done++
		}
	}
	return nil
}

// runCase measures a case, unless there is no hope in it.
func (r *rank) runCase(ctx context.Context, c testCase) error {
	r.Phases.Begin(phases.Load)
	if err := r.comm.Prepare(r.stream, c.algorithm, r.place(c)); err != nil {
		return err
	}
	if hopeless, err := r.hopeless(ctx, c); err != nil || hopeless {
		return err
	}
	mine, err := r.measure(ctx, c)
	if err != nil {
		return err
	}
	return r.share(ctx, c, mine)
}
