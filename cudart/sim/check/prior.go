package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
)

// PriorNotWaited is the cause of a race between two kernels of a stream that programmatic dependent launch lets
// overlap.
const PriorNotWaited = finding.PriorNotWaited

// explainPrior names the griddepcontrol.wait that would order two kernels of one chain.
func (r *run) explainPrior(f *Finding) {
	first, second := f.Sides[0], f.Sides[1]
	early, late := first, second
	if early.Launch > late.Launch {
		early, late = late, early
	}
	if early.Launch == late.Launch {
		return
	}
	for l := r.priors[late.Launch]; l != 0; l = r.priors[l] {
		if l != early.Launch {
			continue
		}
		f.Cause = PriorNotWaited
		f.Advice = fmt.Sprintf("add griddepcontrol.wait before %q of %s", late.Text, late.Kernel)
		if r.priors[late.Launch] != early.Launch {
			f.Advice += ", and to the kernels between them"
		}
	}
}
