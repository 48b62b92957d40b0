package check

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// EncodeTensorMap encodes m in a form of the simulator's own.
func (d *device) EncodeTensorMap(m cudart.TensorMap) ([cudart.TensorMapBytes]byte, error) {
	return exec.EncodeTensorMapFor(d.info, m)
}
