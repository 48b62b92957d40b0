package driver

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// CUjit_option numbers, and the room for what the compiler has to say.
const (
	jitErrorLogBuffer = 5
	jitErrorLogBytes  = 6
	jitLogBytes       = 8 << 10
)

// CUfunction_attribute numbers.
const (
	funcStaticShared     = 1
	funcMaxDynamicShared = 8
)

// module is PTX that the driver has compiled for the device.
type module struct {
	dev    *device
	name   string
	handle uintptr
}

// kernel is a function of a module.
type kernel struct {
	dev    *device
	module *module
	name   string
	handle uintptr
	static int // bytes of static shared memory per block
	// shared is how much dynamic shared memory a block may have so far.
	shared int
	// paramBytes is the size of the kernel's parameters, 0 where it has none
	// and -1 where the driver is too old to tell.
	paramBytes int
	// paramOffsets is where each parameter begins, and lastBytes the size of the last one. Of an old driver's kernel it is
	// one parameter at 0.
	paramOffsets []uint64
	lastBytes    int
}

// LoadModule compiles PTX. Where the compiler refuses, the error's detail is
// its log.
func (d *device) LoadModule(name string, code []byte) (cudart.Module, error) {
	var (
		pins    runtime.Pinner
		image   = append(slices.Clone(code), 0) // PTX ends with a zero, and binaries say how long they are
		log     = make([]byte, jitLogBytes)
		options = [2]int32{jitErrorLogBuffer, jitErrorLogBytes}
	)
	defer pins.Unpin()
	pins.Pin(&log[0])
	values := [2]uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogBytes}
	m := &module{dev: d, name: name}
	err := d.api.call(
		d.api.moduleLoadDataEx,
		uintptr(unsafe.Pointer(&m.handle)),
		uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)),
		uintptr(unsafe.Pointer(&options)),
		uintptr(unsafe.Pointer(&values)),
	)
	if err != nil {
		return nil, fmt.Errorf("loading module %s: %w", name, withLog(err, dl.Text(log)))
	}
	d.own(m)
	return m, nil
}

// withLog adds the compiler's log to the detail of an error.
func withLog(err error, log string) error {
	var e *cudart.Error
	if log == "" || !errors.As(err, &e) {
		return err
	}
	detailed := *e
	if detailed.Detail != "" {
		detailed.Detail += "; "
	}
	detailed.Detail += log
	return &detailed
}

// Unload ends the graphs of the module's kernels, too.
func (m *module) Unload() error {
	graphs := m.dev.closeKernelGraphs(func(g *kernelGraph) bool { return g.kernel.module == m })
	return errors.Join(graphs, m.dev.closeOwned(m))
}

func (m *module) release() error { return m.dev.api.call(m.dev.api.moduleUnload, m.handle) }

// Kernel finds an entry point and asks what it takes to launch it.
func (m *module) Kernel(entry string) (cudart.Kernel, error) {
	a := m.dev.api
	k := &kernel{dev: m.dev, module: m, name: entry}
	name := dl.Bytes(entry)
	err := a.call(a.moduleGetFunction, uintptr(unsafe.Pointer(&k.handle)), m.handle, uintptr(unsafe.Pointer(&name[0])))
	if err != nil {
		return nil, fmt.Errorf("finding kernel %s in module %s: %w", entry, m.name, err)
	}
	var static int32
	if err := a.call(a.funcGetAttribute, uintptr(unsafe.Pointer(&static)), funcStaticShared, k.handle); err != nil {
		return nil, fmt.Errorf("asking for the shared memory of kernel %s: %w", entry, err)
	}
	k.static, k.shared = int(static), max(0, defaultSharedBytes-int(static))
	if err := k.findParams(); err != nil {
		return nil, fmt.Errorf("asking for the parameters of kernel %s: %w", entry, err)
	}
	return k, nil
}

// Global asks for the address and the size of a variable.
func (m *module) Global(name string) (cudart.DevicePtr, int64, error) {
	var (
		a    = m.dev.api
		ptr  cudart.DevicePtr
		size uint64
		text = dl.Bytes(name)
	)
	err := a.call(a.moduleGetGlobal, uintptr(unsafe.Pointer(&ptr)), uintptr(unsafe.Pointer(&size)), m.handle,
		uintptr(unsafe.Pointer(&text[0])))
	if err != nil {
		return 0, 0, fmt.Errorf("finding variable %s in module %s: %w", name, m.name, err)
	}
	return ptr, int64(size), nil
}

func (k *kernel) Name() string { return k.name }
