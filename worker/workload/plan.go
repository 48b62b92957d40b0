package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/symm"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
)

// Plan is a job in terms of the catalog: its requests, and, once algorithms are chosen, its
// cases.
type Plan struct {
	Collective *collective.Collective // nil: the job is about something else
	Cases      []Case
	Products   ProductPlan // of a job that is about them

	job      Job
	world    int
	requests []request
}

// request is one call that the job asks for.
type request struct {
	algorithm string // a name, or "auto"
	// call has no offsets of buffers yet: Send and Recv are how far the buffers lie off
	// their alignment.
	call collective.Call
	// bytes are the size that the job asks for. The call's own may be a little less, or more if a kernel file asks for it.
	bytes int64
}

// UsageError is a job that cannot run on any devices.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Check says why a job cannot run on so many ranks, whatever their devices, as
// a *UsageError, or nil.
func (j Job) Check(world int) error {
	_, err := j.Plan(world)
	return err
}

// Plan turns the job's parameters into requests. Its errors are *UsageError.
func (j Job) Plan(world int) (Plan, error) {
	p := Plan{job: j, world: world}
	switch {
	case j.Pairs:
		return p, j.checkPairs(world)
	case j.Products != nil:
		var err error
		p.Products, err = j.planProducts(world)
		return p, err
	}
	var err error
	if p.Collective, err = j.collective(); err != nil {
		return p, err
	}
	if p.Collective.Shape.Empty && j.SpansMachines() {
		return p, usagef("%s is proved by what ranks read of each other's memory, and so runs within one machine",
			p.Collective.Name)
	}
	parameters, err := j.parse(p.Collective, world)
	if err != nil {
		return p, err
	}
	for _, algorithm := range j.Algorithms {
		if err := p.add(algorithm, parameters); err != nil {
			return p, err
		}
	}
	if err := cmp.Or(p.checkMemory(), j.checkSkew(world), j.checkFurther(), p.checkRecord()); err != nil {
		return p, err
	}
	return p, j.checkInjections(p.Collective.Shape, world, p.requests)
}

// Requested is the number of calls that the job asks for. Each becomes a case, or one out of place and one in place.
func (p Plan) Requested() int { return len(p.requests) }

// Calls are those that the job asks an algorithm for, without places for their buffers.
func (p Plan) Calls(algorithm string) []collective.Call {
	var all []collective.Call
	for _, r := range p.requests {
		if r.algorithm == algorithm {
			all = append(all, r.call)
		}
	}
	return all
}

// collective finds the job's collective, and adds the algorithms of its kernel files.
func (j Job) collective() (*collective.Collective, error) {
	c, ok := kernels.Find(j.Collective)
	var err error
	switch {
	case j.Collective == kernelfile.Custom:
		c, err = userkernel.Custom(j.KernelFiles)
	case !ok:
		return nil, usagef("there is no collective %q", j.Collective)
	case len(j.KernelFiles) > 0:
		c, err = userkernel.Extend(c, j.KernelFiles)
	}
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	return c, nil
}

// add appends the requests for an algorithm. Every requested size has its own, even if
// several lead to the same call: thresholds apply to requested sizes.
func (p *Plan) add(algorithm string, with parameters) error {
	call := collective.Call{Root: p.job.Root, Epilogue: with.epilogue}
	files := p.kernelFiles()
	for _, call.Blocks = range with.blocks {
		for _, call.DType = range with.dtypes {
			call.Send, call.Recv = p.job.offset(call.DType), p.job.offset(call.DType)
			for _, call.Op = range with.ops {
				for _, bytes := range with.sizes {
					call.Count = p.job.count(p.Collective.Shape, p.world, call.DType, bytes)
					call.Count = p.job.roundUp(p.Collective.Shape, p.world, call, files...)
					if err := p.check(algorithm, call); err != nil {
						return err
					}
					p.requests = append(p.requests, request{algorithm, call, bytes})
				}
			}
		}
	}
	return nil
}

// kernelFiles are the job's algorithms that kernel files describe.
func (p *Plan) kernelFiles() []*collective.Algorithm {
	return slices.DeleteFunc(slices.Clone(p.Collective.Algorithms), func(a *collective.Algorithm) bool {
		return a.File == "" || !slices.Contains(p.job.Algorithms, a.Name)
	})
}

// check refuses a request that cannot run on any device. For "auto", one algorithm that can
// run is enough; an error is then about the one that is chosen for the size.
func (p *Plan) check(algorithm string, call collective.Call) error {
	if algorithm == Auto {
		candidates := autoCandidates(p.Collective, p.job.SpansMachines())
		for _, a := range candidates {
			if a.Check(call, p.world) == nil && p.job.contradicts(p.Collective, a, call) == nil {
				return nil
			}
		}
		if algorithm = p.Collective.Choose(p.world, call); p.job.SpansMachines() && len(candidates) > 0 {
			algorithm = candidates[0].Name
		}
	}
	a, ok := p.Collective.Algorithm(algorithm)
	if !ok {
		return usagef("%s has no algorithm %q", p.Collective.Name, algorithm)
	}
	if err := a.Check(call, p.world); err != nil {
		return &UsageError{err.Error() + p.job.alternatives(p.Collective, call, p.world)}
	}
	if slices.Contains(p.job.Optional, algorithm) {
		return nil
	}
	return p.job.contradicts(p.Collective, a, call)
}

// alternatives names gpurun's own algorithms that can do a call, for the end of an error that
// refuses another. It is empty if there are none.
func (j Job) alternatives(c *collective.Collective, call collective.Call, world int) string {
	var names []string
	for _, a := range c.Algorithms {
		if a.Needs.Library == "" && a.File == "" && a.Check(call, world) == nil && j.contradicts(c, a, call) == nil {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, " or ") + " can"
}

// callWithoutPDL describes a call for which an algorithm has no kernel for programmatic
// dependent launch. It is empty if the algorithm has none for any call.
func callWithoutPDL(a *collective.Algorithm, call collective.Call) string {
	if !slices.ContainsFunc(a.Kernels, func(k collective.Kernel) bool { return k.Module.Arch.PDL() }) {
		return ""
	}
	text := " of " + call.DType.Name
	if call.Op != collective.None {
		text += " " + string(call.Op)
	}
	if call.Epilogue.Kind != collective.NoEpilogue {
		text += " with " + string(call.Epilogue.Kind)
	}
	return text
}

// contradicts refuses an algorithm that a setting of the job rules out.
func (j Job) contradicts(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	memory, isFixed := symm.RequiredBy(a.Needs.Library)
	noPeerAccess, noMulticast := j.NoPeerAccess(), j.rulesOutMulticast()
	switch {
	case j.SpansMachines() && !a.AcrossMachines():
		return &UsageError{withinOneMachine(c, a)}
	case a.Needs.Peers && noPeerAccess != "":
		return usagef("%s needs peer access, and %s; %s can do without", name, noPeerAccess, withoutPeers(c))
	case a.Needs.Multicast && noMulticast != "":
		return usagef("%s needs a multicast address, and %s", name, noMulticast)
	case isFixed && j.Symm != "" && j.Symm != Auto && j.Symm != string(memory):
		return usagef("%s works on memory shared by %s alone: leave --symm at auto", name, memory)
	case j.GraphReplays > 0 && a.Needs.FreshArguments:
		return usagef("%s has arguments that change with every call, which no graph can replay: give --cudagraph 0", name)
	case j.PDL == On && !a.HasPDL(call):
		return usagef("%s has no kernel for programmatic dependent launch%s: leave --pdl at auto", name,
			callWithoutPDL(a, call))
	}
	return nil
}
