package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"gpurun/cudart"
)

// defaultSharedBytes is how much shared memory a block may use without asking
// for more, and maxParamBytes how long a kernel's parameters may be
// (CUDA programming guide, "Features and Technical Specifications").
const (
	defaultSharedBytes = 48 << 10
	maxParamBytes      = 32764
	maxParams          = 512 // that a kernel may have; our limit
)

// launchBlock is the memory that the driver's functions for launches read while they
// are called. A device has one, so that a launch allocates nothing.
type launchBlock struct {
	params   [maxParamBytes]byte
	pointers [maxParams]uintptr // to each parameter, in params
	args     [11]uintptr
	extended extendedLaunch
	node     kernelNode
	pins     runtime.Pinner
}

func newLaunchBlock() *launchBlock {
	b := new(launchBlock)
	b.pins.Pin(b)
	return b
}

func (b *launchBlock) unpin() { b.pins.Unpin() }

// Launch enqueues a kernel. The driver copies the parameters before it
// returns.
func (s *stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	fn, err := s.dev.ownKernel("cuLaunchKernel", k)
	if err != nil {
		return err
	}
	if err := fn.checkLaunch(shape, params); err != nil {
		return fmt.Errorf("launching kernel %s: %w", fn.name, err)
	}
	copy(s.dev.launch.params[:], params)
	if err := s.enqueue(fn, shape, params); err != nil {
		return fmt.Errorf("launching kernel %s with %v blocks of %v threads and %d bytes of shared memory: %w",
			fn.name, shape.Grid(), shape.Block(), shape.SharedBytes, err)
	}
	return nil
}

// ownKernel is a kernel of this device; for others the error names what failed.
func (d *device) ownKernel(op string, k cudart.Kernel) (*kernel, error) {
	own, ok := k.(*kernel)
	if !ok || own.dev != d {
		return nil, &cudart.Error{Op: op, Code: cudart.ErrInvalidHandle, Detail: "the kernel is another device's"}
	}
	return own, nil
}

// enqueue launches a kernel with the parameters, which are in the launch block, in the way that suits it.
func (s *stream) enqueue(k *kernel, shape cudart.Launch, params []byte) error {
	at := s.dev.launch.paramsAt(k)
	isExtended := shape.ClusterBlocks().X != 0 && s.dev.info.Major >= 9 || shape.Cooperative
	if g := s.kernelGraphs[k]; g != nil && shape.ShortRunning && !isExtended && s.capture == nil {
		return s.launchKernelGraph(g, shape, params, at)
	}
	if shape.PDL || isExtended {
		return s.launchExtended(k, shape, at)
	}
	return s.launch(k, shape, at)
}

// paramsAt is what the driver takes for the parameters of a kernel, which are in the block.
func (b *launchBlock) paramsAt(k *kernel) uintptr {
	if len(k.paramOffsets) == 0 {
		return 0
	}
	first := uintptr(unsafe.Pointer(&b.params))
	for i, offset := range k.paramOffsets {
		b.pointers[i] = first + uintptr(offset)
	}
	return uintptr(unsafe.Pointer(&b.pointers))
}

// launch enqueues a kernel that starts when the one before it has ended.
func (s *stream) launch(k *kernel, shape cudart.Launch, params uintptr) error {
	b, grid, block := s.dev.launch, shape.Grid(), shape.Block()
	b.args = [11]uintptr{
		k.handle,
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z),
		uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shape.SharedBytes), s.handle, params, 0,
	}
	return s.dev.api.call(s.dev.api.launchKernel, b.args[:]...)
}

// checkLaunch checks what the driver does not check, and raises the kernel's limit of shared memory
// where the launch needs it.
func (k *kernel) checkLaunch(shape cudart.Launch, params []byte) error {
	refuse := func(format string, args ...any) error {
		return &cudart.Error{Op: "cuLaunchKernel", Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf(format, args...)}
	}
	if err := shape.Check(k.dev.info); err != nil {
		return err
	}
	switch {
	case len(params) > maxParamBytes:
		return refuse("%d bytes of parameters, more than %d", len(params), maxParamBytes)
	case k.paramBytes >= 0 && k.paramBytes != len(params):
		return refuse("%d bytes of parameters where the kernel takes %d", len(params), k.paramBytes)
	}
	if shape.SharedBytes <= k.shared {
		return nil
	}
	return k.raiseShared(shape.SharedBytes)
}

// raiseShared raises the limit of the kernel's dynamic shared memory.
func (k *kernel) raiseShared(bytes int) error {
	a := k.dev.api
	err := a.call(a.funcSetAttribute, k.handle, funcMaxDynamicShared, uintptr(bytes))
	if err == nil {
		k.shared = bytes
		return nil
	}
	var most int32
	if a.call(a.deviceGetAttribute, uintptr(unsafe.Pointer(&most)), attrMaxShared, uintptr(k.dev.handle)) != nil {
		return fmt.Errorf("asking for %d bytes of shared memory per block: %w", bytes, err)
	}
	return fmt.Errorf("asking for %d bytes of dynamic shared memory per block, "+
		"of which %d are possible beside %d of static memory: %w",
		bytes, int(most)-k.static, k.static, err)
}
