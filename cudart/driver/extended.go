package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// Attributes of a launch, CUlaunchAttributeID: that all blocks are resident at once, the blocks of a
// cluster, as three dimensions, and that the kernel need not wait for the end of the one before it
// in the stream.
const (
	attrCooperative               = 2
	attrClusterDimension          = 4
	attrProgrammaticSerialization = 6
)

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

// launchAttribute is CUlaunchAttribute, whose value is a union of 64 bytes.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [3]uint32
	_     [52]byte
}

// extendedLaunch is what cuLaunchKernelEx reads.
type extendedLaunch struct {
	config     launchConfig
	attributes [3]launchAttribute
}

// launchExtended enqueues a kernel in clusters, a cooperative one, or one that may start while the
// one before it still runs.
func (s *stream) launchExtended(k *kernel, shape cudart.Launch, params uintptr) error {
	if err := s.dev.checkExtended(shape); err != nil {
		return err
	}
	b := s.dev.launch
	b.extended = extendedLaunch{config: launchConfig{
		grid:        words3(shape.Grid()),
		block:       words3(shape.Block()),
		sharedBytes: uint32(shape.SharedBytes),
		stream:      s.handle,
		attributes:  uintptr(unsafe.Pointer(&b.extended.attributes)),
	}}
	if cluster := shape.ClusterBlocks(); cluster.X != 0 && s.dev.info.Major >= 9 {
		b.extended.add(attrClusterDimension, words3(cluster))
	}
	if shape.Cooperative {
		b.extended.add(attrCooperative, [3]uint32{1})
	}
	if shape.PDL {
		b.extended.add(attrProgrammaticSerialization, [3]uint32{1})
	}
	args := b.args[:4]
	args[0], args[1], args[2], args[3] = uintptr(unsafe.Pointer(&b.extended.config)), k.handle, params, 0
	return s.dev.api.call(s.dev.api.launchKernelEx, args...)
}

func (e *extendedLaunch) add(id uint32, value [3]uint32) {
	e.attributes[e.config.count] = launchAttribute{id: id, value: value}
	e.config.count++
}

// words3 is a size as the driver's structs have it.
func words3(d cudart.Dim3) [3]uint32 { return [3]uint32{uint32(d.X), uint32(d.Y), uint32(d.Z)} }

// checkExtended refuses what the device or its driver cannot do.
func (d *device) checkExtended(shape cudart.Launch) error {
	refuse := func(format string, args ...any) error {
		return &cudart.Error{Op: "cuLaunchKernelEx", Code: cudart.ErrNotSupported, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case shape.PDL && d.info.Major < 9:
		return refuse("programmatic dependent launch needs compute capability 9.0, and %s has %d.%d; launch without it",
			d.info.Name, d.info.Major, d.info.Minor)
	case !d.api.launchKernelEx.Found():
		return refuse("%s needs a driver for CUDA 11.8 or newer, and this one is older; launch without it", extendedBy(shape))
	}
	return nil
}

// extendedBy names what needs cuLaunchKernelEx.
func extendedBy(shape cudart.Launch) string {
	switch {
	case shape.ClusterBlocks().X != 0:
		return "a launch in clusters"
	case shape.Cooperative:
		return "a cooperative launch"
	}
	return "programmatic dependent launch"
}
