package check

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// EncodeTensorMap encodes m in a form of the simulator's own.
func (d *device) EncodeTensorMap(m cudart.TensorMap) ([cudart.TensorMapBytes]byte, error) {
	const op = "encoding a tensor map"
	if d.info.Major < 9 {
		return [cudart.TensorMapBytes]byte{}, failure(op, cudart.ErrNotSupported,
			"tensor maps need compute capability 9.0, and the device has %d.%d", d.info.Major, d.info.Minor)
	}
	if err := m.Check(); err != nil {
		return [cudart.TensorMapBytes]byte{}, failure(op, cudart.ErrInvalidValue, "%v", err)
	}
	return exec.EncodeTensorMap(m), nil
}
