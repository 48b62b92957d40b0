package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
)

// Choose turns the requests into cases that can run on devices of such capabilities. All ranks
// choose alike. leftOut says why optional algorithms are left out, if any are.
func (p *Plan) Choose(caps Capabilities) (leftOut, err error) {
	if p.job.Products != nil {
		return p.Products.choose(caps, p.job.Optional)
	}
	p.Cases = nil
	c := chooser{p.Collective, caps, p.job.Tuning}
	for _, q := range p.requests {
		chosen, err := c.choose(q)
		if err != nil && slices.Contains(p.job.Optional, q.algorithm) && isUnavailable(err) {
			if leftOut == nil || !strings.Contains(leftOut.Error(), err.Error()) {
				leftOut = errors.Join(leftOut, err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		p.Cases = append(p.Cases, newCases(c.collective.Shape, p.world, chosen)...)
	}
	if len(p.Cases) == 0 && leftOut != nil {
		return nil, leftOut
	}
	return leftOut, nil
}

// isUnavailable reports whether an algorithm was refused because of the machine, not of the job.
func isUnavailable(err error) bool {
	var unavailable *Unavailable
	var unsupported *UnsupportedDevice
	return errors.As(err, &unavailable) || errors.As(err, &unsupported)
}

// chooser chooses among a collective's algorithms, by capabilities and by what was measured.
type chooser struct {
	collective *collective.Collective
	caps       Capabilities
	tables     tuning.Tables
}

// choice is the algorithm and the call for a request.
type choice struct {
	algorithm *collective.Algorithm
	call      collective.Call
	why       string
	request   request
}

// choose finds the algorithm of a request, and the blocks that go with it unless
// the request has its own.
func (c chooser) choose(q request) (choice, error) {
	best := tuning.Choice{Algorithm: q.algorithm, Reason: "asked for"}
	if q.algorithm == Auto {
		var err error
		if best, err = c.best(q.call); err != nil {
			return choice{}, err
		}
	}
	if err := c.refuse(best.Algorithm, q.call); err != nil {
		if q.algorithm == Auto {
			err = c.withoutPDL(best.Algorithm, q.call)
		}
		return choice{}, err
	}
	switch {
	case q.call.Blocks == 0:
		q.call.Blocks = best.Blocks
	case best.Blocks != 0:
		best.Reason += "; the blocks were asked for"
	}
	a, _ := c.collective.Algorithm(best.Algorithm)
	return choice{a, q.call, best.Reason, q}, nil
}

// withoutPDL refuses the best algorithm: it has no kernel for programmatic dependent launch, which
// the job requires. It does not choose another one, which may be much slower.
func (c chooser) withoutPDL(best string, call collective.Call) error {
	advice := "leave --pdl at auto"
	var others []string
	for _, a := range autoCandidates(c.collective, c.caps.SpansMachines) {
		if c.refuse(a.Name, call) == nil {
			others = append(others, a.Name)
		}
	}
	if len(others) > 0 {
		advice += ", or name an algorithm that has one: " + strings.Join(others, " or ")
	}
	return usagef("auto takes %s %s for %d elements, which has no kernel for programmatic dependent launch: %s",
		c.collective.Name, best, call.Count, advice)
}

// best is the algorithm for "auto", with or without programmatic dependent launch: the fastest one
// in the tuning tables, else the collective's estimate, else the first that can do the call. The
// tables have no measurements without peer access; naive is then the first.
func (c chooser) best(call collective.Call) (tuning.Choice, error) {
	c.caps.WantPDL = false
	switch {
	case c.caps.NoPeerAccess != "":
		return c.first(call, c.caps.NoPeerAccess)
	case c.caps.SpansMachines:
		return c.first(call, "the ranks are on several machines")
	}
	waits := "" // why the measured algorithm is slow here
	able := func(name string) bool {
		a, ok := c.collective.Algorithm(name)
		if ok && a.Needs.Overlap && c.caps.NoOverlap != "" {
			waits = name + " is slow here: " + c.caps.NoOverlap
			return false
		}
		return c.refuse(name, call) == nil
	}
	measured, ok := c.tables.Choose(tuning.Query{
		GPU: c.caps.Devices[0].Name, SM: c.caps.leastSM(), Collective: c.collective.Name, World: c.world(),
		Epilogue: call.Epilogue.Kind, Hidden: call.Epilogue.Row,
		Bytes: Case{Shape: c.collective.Shape, world: c.world(), Call: call}.Bytes(),
		Able:  able,
	})
	if ok {
		return measured, nil
	}
	estimate := c.collective.Choose(c.world(), call)
	if err := c.refuse(estimate, call); err != nil {
		return c.first(call, err.Error())
	}
	return tuning.Choice{
		Algorithm: estimate, Reason: "an estimate; " + cmp.Or(waits, measured.Reason, "nothing measured is at hand"),
	}, nil
}

// first is the first algorithm that can do a call. After Plan.check, only the devices can
// keep all of them from it.
func (c chooser) first(call collective.Call, reason string) (tuning.Choice, error) {
	because := reason
	for _, a := range autoCandidates(c.collective, c.caps.SpansMachines) {
		err := c.refuse(a.Name, call)
		if err == nil {
			return tuning.Choice{Algorithm: a.Name, Reason: "the first that can do it: " + reason}, nil
		}
		if a.Needs.Library != "" {
			because += "; " + err.Error()
		}
	}
	return tuning.Choice{}, &Unavailable{
		fmt.Sprintf("no algorithm of %s can do this here: %s", c.collective.Name, because),
	}
}

// refuse says why an algorithm cannot do a call, here or at all, or returns nil.
func (c chooser) refuse(name string, call collective.Call) error {
	a, ok := c.collective.Algorithm(name)
	if !ok {
		return usagef("%s has no algorithm %q", c.collective.Name, name)
	}
	if err := a.Check(call, c.world()); err != nil {
		return &UsageError{err.Error()}
	}
	if a.Areas != nil {
		if _, err := a.Areas(c.world(), c.caps.LeastSMs(), call); err != nil {
			return &UsageError{err.Error()}
		}
	}
	return c.caps.refuse(c.collective, a, call)
}

func (c chooser) world() int { return len(c.caps.Devices) }
