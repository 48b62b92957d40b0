package worker

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/kernels/matmul"
)

// choose is Choose for products.
func (p *products) choose(s surroundings, optional []string) (leftOut, err error) {
	p.cases = nil
	for _, q := range p.requests {
		err := s.chooseProduct(&q)
		if err != nil && slices.Contains(optional, q.asked) && isMachines(err) {
			leftOut = errors.Join(leftOut, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !q.algorithm.Chunked {
			q.splits = 1
		}
		if !slices.ContainsFunc(p.cases, q.same) {
			p.cases = append(p.cases, q)
		}
	}
	if len(p.cases) == 0 && leftOut != nil {
		return nil, leftOut
	}
	return leftOut, nil
}

// same reports whether two cases would be measured twice.
func (c productCase) same(other productCase) bool {
	return c.String() == other.String() && c.asked == other.asked && c.splits == other.splits
}

// chooseProduct finds the algorithm of a request: "auto" is what the operation estimates to be the fastest or, where
// that cannot run here, the last of gpurun's own that can.
func (s surroundings) chooseProduct(q *productCase) error {
	name := q.asked
	q.why = "asked for"
	if name == auto {
		name = q.operation.Choose(q.problem, len(s.devices), matmul.GPU{SM: s.leastSM(), SMs: s.productSMs()})
		q.why = "an estimate"
	}
	q.algorithm, _ = q.operation.Algorithm(name)
	refused := s.refuseProduct(q.algorithm, q.problem)
	if refused == nil || q.asked != auto {
		return refused
	}
	var err error
	for _, a := range slices.Backward(q.operation.Algorithms) {
		if a.Library != "" {
			continue
		}
		if err = s.refuseProduct(a, q.problem); err == nil {
			q.algorithm, q.why = a, "the last of the list that can do it: "+refused.Error()
			return nil
		}
	}
	return err
}

// refuseProduct says why an algorithm cannot do a problem here, or returns nil.
func (s surroundings) refuseProduct(a *matmul.Algorithm, p matmul.Problem) error {
	name := a.Operation + " " + a.Name
	if err := a.Check(p, len(s.devices)); err != nil {
		return &UsageError{err.Error()}
	}
	for rank, d := range s.devices {
		if least := a.MinSM(p.DType); sm(d) < least {
			return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, fmt.Sprintf(
				"%s of %s needs %d.%d", name, p.DType.Name, least/10, least%10)})
		}
		if first := s.devices[0]; !a.Alike(p.DType, sm(first), sm(d)) {
			return &Unavailable{fmt.Sprintf("%s cannot run: it has different kernels for the %s of rank 0 and the %s of rank %d; decomposed can",
				name, first.Name, d.Name, rank)}
		}
		if a.CopiesBehind && d.LaunchesBlock {
			return &Unavailable{fmt.Sprintf("%s cannot run: launches block rank %d; unset CUDA_LAUNCH_BLOCKING, or take fused", name, rank)}
		}
	}
	for _, library := range a.Libraries() {
		if why := s.lacking(library); why != "" {
			return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, why)}
		}
	}
	if a.Peers && s.apart != "" {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; naive can", name, s.apart)}
	}
	return nil
}
