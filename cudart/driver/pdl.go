package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// attrProgrammaticSerialization is
// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel need not
// wait for the end of the one before it in the stream.
const attrProgrammaticSerialization = 6

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	sharedBytes uint32
	_           uint32
	stream      uintptr
	attributes  uintptr // to launchAttribute
	count       uint32  // of attributes
	_           uint32
}

// launchAttribute is CUlaunchAttribute with an integer for its value.
type launchAttribute struct {
	id    uint32
	_     uint32
	value int32
	_     [60]byte
}

// dependentLaunch is what cuLaunchKernelEx reads of a programmatic dependent
// launch.
type dependentLaunch struct {
	config    launchConfig
	attribute launchAttribute
}

// launchDependent enqueues a kernel that may start while the one before it
// still runs.
func (s *stream) launchDependent(k *kernel, shape cudart.Launch, kernelParams uintptr) error {
	if err := s.dev.admitDependent(); err != nil {
		return err
	}
	b := s.dev.launch
	b.dependent = dependentLaunch{
		config: launchConfig{
			grid:        [3]uint32{uint32(shape.Blocks), 1, 1},
			block:       [3]uint32{uint32(shape.Threads), 1, 1},
			sharedBytes: uint32(shape.SharedBytes),
			stream:      s.handle,
			attributes:  uintptr(unsafe.Pointer(&b.dependent.attribute)),
			count:       1,
		},
		attribute: launchAttribute{id: attrProgrammaticSerialization, value: 1},
	}
	args := b.args[:4]
	args[0], args[1], args[2], args[3] = uintptr(unsafe.Pointer(&b.dependent.config)), k.handle, kernelParams, 0
	return s.dev.api.call(s.dev.api.launchKernelEx, args...)
}

// admitDependent refuses what the device or its driver cannot do.
func (d *device) admitDependent() error {
	refuse := func(format string, args ...any) error {
		return &cudart.Error{Op: "cuLaunchKernelEx", Code: cudart.ErrNotSupported, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case d.info.Major < 9:
		return refuse("programmatic dependent launch needs compute capability 9.0, and %s has %d.%d; launch without it",
			d.info.Name, d.info.Major, d.info.Minor)
	case !d.api.launchKernelEx.Found():
		return refuse("programmatic dependent launch needs a driver for CUDA 11.8 or newer, and this one is older; launch without it")
	}
	return nil
}
