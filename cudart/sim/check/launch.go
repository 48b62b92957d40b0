package check

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/tensorcore"
)

// launch is an enqueued kernel.
type launch struct {
	device *device
	kernel *kernel
	shape  cudart.Launch
	params []byte
}

// Launch checks the shape, copies the parameters, and enqueues the kernel.
func (s *stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	own, err := s.device.kernel(k)
	if err != nil {
		return err
	}
	l := &launch{device: s.device, kernel: own, shape: shape, params: slices.Clone(params)}
	if err := l.check(); err != nil {
		return err
	}
	return s.add(command{launch: l})
}

// check refuses launches that the device cannot perform, and those whose order is not modeled.
func (l *launch) check() error {
	name, info := "launching "+l.kernel.Name(), l.device.info
	if l.shape.PDL && info.Major < 9 {
		return failure(name, cudart.ErrNotSupported,
			"programmatic dependent launch needs compute capability 9.0, and the device has %d.%d", info.Major, info.Minor)
	}
	if err := l.shape.Check(info); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	cfg := l.config()
	err := cfg.Check(l.kernel.code)
	if tooLarge := new(exec.TooLargeError); errors.As(err, &tooLarge) {
		return failure(name, cudart.ErrCoopTooLarge, "%v", err)
	}
	if err != nil {
		return failure(name, cudart.ErrInvalidValue, "%v", err)
	}
	return nil
}

func (l *launch) config() exec.Config {
	run := l.device.run
	cfg := exec.Config{
		GridDim: l.shape.Grid(), BlockDim: l.shape.Block(), ClusterDim: l.shape.ClusterBlocks(),
		SharedBytes: l.shape.SharedBytes, Cooperative: l.shape.Cooperative, Params: l.params,
		SMs: l.device.info.SMs, Resident: l.resident(), Memory: &run.memory, Clock: run,
		TensorCores: tensorcore.Of(l.device.info.Major), Observer: &observer{},
		Heap: &kernelHeap{}, EachAccess: run.explores != nil && run.explores.weak,
	}
	if image := l.kernel.module.image; image != nil {
		cfg.Image = image.base
	}
	return cfg
}
