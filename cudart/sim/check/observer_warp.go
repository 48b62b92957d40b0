package check

import "gpurun/cudart/sim/exec"

// SyncWarp implements exec.WarpObserver.
func (o *observer) SyncWarp(at exec.Place, lanes uint32, ordersMemory bool) {
	o.run.detector.SyncWarp(o.warp(at.Block, at.Warp), lanes, ordersMemory)
}
