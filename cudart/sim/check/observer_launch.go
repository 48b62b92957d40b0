package check

import "gpurun/cudart/sim/exec"

// WaitPrior implements exec.LaunchObserver: all that the kernel before did happens before what the warp does next.
func (o *observer) WaitPrior(at exec.Place) {
	if o.prior != nil {
		o.run.detector.After(o.warp(at.Block, at.Warp), o.prior.ended)
	}
}
