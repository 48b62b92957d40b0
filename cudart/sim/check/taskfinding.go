package check

import "gpurun/cudart/sim/check/finding"

// WrongResult is the kind of a finding of a task: what its kernels computed is not what they should.
const WrongResult = finding.WrongResult

// AddFinding adds a finding of a task to the report of its run. The memory is in order: a wrong result does not come
// from a weak memory model, but from this schedule.
func (r *Rank) AddFinding(f Finding) {
	f.Count = max(f.Count, 1)
	for i := range r.run.found {
		known := &r.run.found[i]
		if known.Kind == f.Kind && known.Cause == f.Cause && known.Sides[0].Command == f.Sides[0].Command {
			known.Count += f.Count
			return
		}
	}
	r.run.found = append(r.run.found, f)
}
