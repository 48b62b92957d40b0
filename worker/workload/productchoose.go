package workload

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/kernels/matmul"
)

// choose is Plan.Choose for products.
func (p *ProductPlan) choose(caps Capabilities, optional []string) (leftOut, err error) {
	p.Cases = nil
	for _, q := range p.requests {
		err := caps.chooseProduct(&q)
		if err != nil && slices.Contains(optional, q.Requested) && isUnavailable(err) {
			leftOut = errors.Join(leftOut, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !q.Algorithm.Chunked {
			q.Splits = 1
		}
		if !slices.ContainsFunc(p.Cases, q.same) {
			p.Cases = append(p.Cases, q)
		}
	}
	if len(p.Cases) == 0 && leftOut != nil {
		return nil, leftOut
	}
	return leftOut, nil
}

// same reports whether two cases would be measured twice.
func (c ProductCase) same(other ProductCase) bool {
	return c.String() == other.String() && c.Requested == other.Requested && c.Splits == other.Splits
}

// chooseProduct finds the algorithm of a request. "auto" is the one that the operation estimates
// to be the fastest. If that cannot run here, it is the last of gpurun's own that can. It is never a kernel file.
func (caps Capabilities) chooseProduct(q *ProductCase) error {
	name := q.Requested
	q.Why = "asked for"
	if name == Auto {
		name = q.Operation.Choose(q.Problem, len(caps.Devices), matmul.GPU{SM: caps.leastSM(), SMs: caps.ProductSMs()})
		q.Why = "an estimate"
	}
	q.Algorithm, _ = q.Operation.Algorithm(name)
	refused := caps.refuseProduct(q.Algorithm, q.Problem)
	if refused == nil || q.Requested != Auto {
		return refused
	}
	var err error
	for _, a := range slices.Backward(q.Operation.Algorithms) {
		if a.Library != "" || a.File != "" {
			continue
		}
		if err = caps.refuseProduct(a, q.Problem); err == nil {
			q.Algorithm, q.Why = a, "the last of the list that can do it: "+refused.Error()
			return nil
		}
	}
	return err
}

// refuseProduct says why an algorithm cannot do a problem here, or returns nil.
func (caps Capabilities) refuseProduct(a *matmul.Algorithm, p matmul.Problem) error {
	name := a.Operation + " " + a.Name
	if err := a.Check(p, len(caps.Devices)); err != nil {
		return &UsageError{err.Error()}
	}
	for rank, d := range caps.Devices {
		if least := a.MinSM(p.DType); sm(d) < least {
			return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, fmt.Sprintf(
				"%s of %s needs %d.%d", name, p.DType.Name, least/10, least%10)})
		}
		if first := caps.Devices[0]; !a.Compatible(p.DType, sm(first), sm(d)) {
			return &Unavailable{fmt.Sprintf("%s cannot run: it has different kernels for the %s of rank 0 and the %s of rank "+
				"%d; decomposed can",
				name, first.Name, d.Name, rank)}
		}
		if a.CopiesAfterKernel && d.LaunchesBlock {
			return &Unavailable{
				fmt.Sprintf("%s cannot run: launches block rank %d; unset CUDA_LAUNCH_BLOCKING, or take fused", name, rank),
			}
		}
	}
	for _, library := range a.Libraries() {
		if why := caps.whyUnavailable(library); why != "" {
			return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, why)}
		}
	}
	if err := caps.refuseProductFile(a, p); err != nil {
		return err
	}
	if a.Peers && caps.NoPeerAccess != "" {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; naive can", name, caps.NoPeerAccess)}
	}
	return nil
}
