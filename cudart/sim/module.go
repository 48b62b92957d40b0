package sim

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// module is compiled PTX with its variables in device memory.
type module struct {
	device   *Device
	name     string
	program  *exec.Program
	image    *allocation // nil without variables
	unloaded bool
}

// place allocates and initialises the module's variables.
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
	return m.program.WriteImage(a.data, a.base)
}

// Kernel finds an entry point.
func (m *module) Kernel(entry string) (cudart.Kernel, error) {
	k, ok := m.program.Kernel(entry)
	if !ok || m.unloaded {
		return nil, failure("finding a kernel", cudart.ErrNotFound, "%s has no kernel %s", m.name, entry)
	}
	return &kernel{module: m, code: k}, nil
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

func (k *kernel) Name() string { return k.code.Name }
