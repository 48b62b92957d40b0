package sim

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/tensorcore"
)

// quantum is how many instructions a warp executes in one turn: enough to keep
// its registers in the cache, and few enough to look at d.stop often.
const quantum = 4096

// launch is an enqueued kernel.
type launch struct {
	device *Device
	kernel *kernel
	shape  cudart.Launch
	params []byte
}

func (l *launch) config() exec.Config {
	d := l.device
	cfg := exec.Config{
		GridDim: l.shape.Grid(), BlockDim: l.shape.Block(), ClusterDim: l.shape.ClusterBlocks(),
		SharedBytes: l.shape.SharedBytes, Cooperative: l.shape.Cooperative,
		Params: l.params, SMs: d.info.SMs, Memory: d.memory, Clock: d,
		TensorCores: tensorcore.Of(d.info.Major), SharedLimit: sharedBytesOf(d.info), TearVectors: d.tearVectors,
		Stop:      func() bool { return d.stop.Err() != nil },
		Output:    d.output,
		Functions: l.kernel.module.functions,
	}
	if l.kernel.code.UsesHeap() {
		cfg.Heap = d.heap
	}
	if l.kernel.module.image != nil {
		cfg.Image = l.kernel.module.image.base
	}
	return cfg
}

func (l *launch) check() error {
	if info := l.device.info; l.shape.PDL && info.Major < 9 {
		return failure("launching "+l.kernel.Name(), cudart.ErrNotSupported,
			"programmatic dependent launch needs compute capability 9.0, and the device has %d.%d", info.Major, info.Minor)
	}
	if err := l.shape.Check(l.device.info); err != nil {
		return failedBy("launching "+l.kernel.Name(), err)
	}
	cfg := l.config()
	err := cfg.Check(l.kernel.code)
	if tooLarge := new(exec.TooLargeError); errors.As(err, &tooLarge) {
		return failure("launching "+l.kernel.Name(), cudart.ErrCoopTooLarge, "%v", err)
	}
	if err != nil {
		return failure("launching "+l.kernel.Name(), cudart.ErrInvalidValue, "%v", err)
	}
	return nil
}

// failed gives a fault the code that the driver would report.
func (l *launch) failed(err error) error {
	var fault *exec.Fault
	if !errors.As(err, &fault) {
		return fmt.Errorf("running %s: %w", l.kernel.Name(), err)
	}
	code := cudart.ErrLaunchFailed
	switch fault.Kind {
	case exec.IllegalAddress:
		code = cudart.ErrIllegalAddress
	case exec.MisalignedAddress:
		code = cudart.ErrMisaligned
	case exec.IllegalInstruction:
		code = cudart.ErrIllegalInstr
	}
	return failure("running "+l.kernel.Name(), code, "%v", fault)
}
