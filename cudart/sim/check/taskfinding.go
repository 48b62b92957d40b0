package check

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/check/finding"
)

// WrongResult is the kind of a finding of a task: what its kernels computed is not what they should.
const WrongResult = finding.WrongResult

// Output is a result of a call in global memory, of which an element is wrong.
type Output struct {
	At    cudart.DevicePtr
	Bytes int64
	Wrong int64 // the first byte of the first wrong element, from At on
	// Restored says that the calls should have left the output as it was.
	Restored bool
}

// taskFinding is a finding of a task, about an output.
type taskFinding struct {
	Finding
	output Output
}

// AddWrongResult adds a finding of a task to the report of its run. Its first side is the call. The memory is in order:
// a wrong result does not come from a weak memory model, but from this schedule.
func (r *Rank) AddWrongResult(f Finding, output Output) {
	f.Kind, f.Count = WrongResult, max(f.Count, 1)
	for i := range r.run.found {
		known := &r.run.found[i]
		if known.Cause == f.Cause && known.Sides[0].Command == f.Sides[0].Command {
			known.Count += f.Count
			return
		}
	}
	r.run.found = append(r.run.found, taskFinding{f, output})
}

// taskFindings are the findings of tasks.
func (r *run) taskFindings() (all []Finding) {
	for _, f := range r.found {
		if r.origins != nil {
			f.Finding = r.origins.explained(f)
		}
		all = append(all, f.Finding)
	}
	return all
}
