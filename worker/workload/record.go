package workload

import "strings"

// checkRecord refuses to record a call of a collective if there is more than one, or if its algorithm has no steps that
// could be told apart.
func (p *Plan) checkRecord() error {
	if !p.job.Record {
		return nil
	}
	if len(p.requests) != 1 {
		return usagef("a timeline is of one call: name one algorithm, size, type and operation, and not %d cases",
			len(p.requests))
	}
	name := p.requests[0].algorithm
	if a, ok := p.Collective.Algorithm(name); ok && a.Record != nil {
		return nil
	}
	return usagef("%s %s has no timeline: that of a collective shows the steps of a kernel file, which --algo names",
		p.Collective.Name, name)
}

// checkRecord refuses to record a call if there is more than one, or if its algorithm cannot be
// recorded.
func (j Job) checkRecord(p ProductPlan) error {
	if !j.Record {
		return nil
	}
	if len(p.requests) != 1 {
		return usagef("a timeline is of one call: name one algorithm, M, N, K, type and number of splits, and not %d cases",
			len(p.requests))
	}
	a, ok := p.operation.Algorithm(p.requests[0].Requested)
	if !ok || a.HasTimeline() {
		return nil // "auto" takes one that can be recorded
	}
	var can []string
	for _, a := range p.operation.Algorithms {
		if a.HasTimeline() {
			can = append(can, a.Name)
		}
	}
	return usagef("%s %s records no times of its tiles, and so has no timeline; these have one: %s",
		p.operation.Name, a.Name, strings.Join(can, ", "))
}
