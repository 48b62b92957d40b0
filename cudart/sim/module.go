package sim

import (
	"errors"
	"strings"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/ptx"
)

// module is loaded PTX with its variables in device memory.
type module struct {
	device  *Device
	name    string
	program *exec.Program
	image   *allocation // nil without variables
	// functions is their address, by which pointers to functions of different modules differ.
	functions uint64
	unloaded  bool
}

// LoadModule parses PTX. What is no PTX is an error here. What the simulator lacks is an error when a
// kernel that needs it is looked up, so that the other kernels of the module can run.
//
// PTX for sm_90a and sm_100a loads too. A GPU takes such targets only where
// they name its own compute capability, and the simulator wherever they are not
// above it.
func (d *Device) LoadModule(name string, text []byte) (cudart.Module, error) {
	const op = "loading PTX"
	if err := d.sticky(); err != nil {
		return nil, err
	}
	c := compile(name, text)
	if c.header == nil {
		return nil, failure(op, cudart.ErrInvalidPTX, "%v", c.invalid)
	}
	if err := d.checkTarget(op, c.header); err != nil {
		return nil, err
	}
	if c.invalid != nil {
		return nil, failure(op, cudart.ErrInvalidPTX, "%v", c.invalid)
	}
	m := &module{device: d, name: name, program: c.program, functions: exec.FunctionsAddress(d.loaded)}
	d.loaded++
	return m, m.place()
}

func (d *Device) checkTarget(op string, m *ptx.Module) error {
	if reason := exec.CheckVersion(m); reason != "" {
		return failure(op, cudart.ErrUnsupportedPTX, "%s", reason)
	}
	if m.SM > 10*d.info.Major+d.info.Minor {
		return failure(op, cudart.ErrNoBinaryForGPU,
			"%s is for %s, and the simulator is a device of compute capability %d.%d; --sim-arch can be %s",
			m.Name, m.Target, d.info.Major, d.info.Minor, strings.Join(Arches(), ", "))
	}
	if reason := exec.CheckTarget(m); reason != "" {
		return failure(op, cudart.ErrNoBinaryForGPU, "%s", reason)
	}
	return nil
}

// place allocates and initializes the module's variables.
func (m *module) place() error {
	size := m.program.ImageSize()
	if size == 0 {
		return nil
	}
	a, err := m.device.memory.allocate(size)
	if err != nil {
		return failedBy("allocating the variables of "+m.name, err)
	}
	m.image = a
	m.program.WriteImage(a.data, a.base, m.functions)
	return nil
}

// Kernel finds an entry point and compiles it, unless that was done before. The error is ErrInvalidPTX where
// the simulator lacks something that the kernel or a function needs which it may call.
func (m *module) Kernel(entry string) (cudart.Kernel, error) {
	const op = "finding a kernel"
	if m.unloaded {
		return nil, failure(op, cudart.ErrNotFound, "%s is unloaded", m.name)
	}
	k, err := m.program.Kernel(entry)
	switch {
	case errors.Is(err, exec.ErrNoKernel):
		return nil, failure(op, cudart.ErrNotFound, "%s has no kernel %s", m.name, entry)
	case err != nil:
		return nil, failure("compiling kernel "+entry, cudart.ErrInvalidPTX,
			"%v; gpurun inspect shows which kernels the simulator can run", err)
	}
	if k.UsesHeap() {
		if err := m.device.makeHeap(); err != nil {
			return nil, err
		}
	}
	return &kernel{module: m, code: k}, nil
}

// Global finds a variable.
func (m *module) Global(name string) (cudart.DevicePtr, int64, error) {
	at, size, ok := m.program.Variable(name)
	if !ok || m.unloaded {
		return 0, 0, failure("finding a variable", cudart.ErrNotFound, "%s has no .global or .const variable %s", m.name,
			name)
	}
	return cudart.DevicePtr(m.image.base + uint64(at)), size, nil
}

// Unload waits for all work on the device and frees the module's variables.
func (m *module) Unload() error {
	if m.unloaded {
		return failure("unloading a module", cudart.ErrInvalidHandle, "%s was unloaded before", m.name)
	}
	m.unloaded = true
	if m.image == nil {
		return nil
	}
	return m.device.free(m.image)
}

type kernel struct {
	module *module
	code   *exec.Kernel
}

var _ cudart.Occupier = (*kernel)(nil)

// ResidentBlocks is the same for all kernels.
func (k *kernel) ResidentBlocks(cudart.Launch) (int, error) { return exec.MaxResident, nil }

func (k *kernel) Name() string { return k.code.Name }
