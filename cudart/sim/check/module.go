package check

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// module is loaded PTX with its variables in memory of the rank.
type module struct {
	device   *device
	name     string
	program  *exec.Program
	image    *region // nil without variables
	unloaded bool
}

func (d *device) LoadModule(name string, text []byte) (cudart.Module, error) {
	if d.fault != nil {
		return nil, d.fault
	}
	p, err := d.run.checker.cfg.Programs.load(name, text)
	if err != nil {
		return nil, failure("loading PTX", cudart.ErrInvalidPTX, "%v", err)
	}
	m := &module{device: d, name: name, program: p}
	if size := p.ImageSize(); size > 0 {
		if m.image, err = d.run.memory.allocate(d.rank.Number, size); err != nil {
			return nil, fmt.Errorf("allocating the variables of %s: %w", name, err)
		}
		m.image.written = true
		p.WriteImage(m.image.data, m.image.base, exec.FunctionsAddress(0))
		d.rank.Name(cudart.DevicePtr(m.image.base), size, "variables of "+name)
	}
	return m, nil
}

func (m *module) Kernel(entry string) (cudart.Kernel, error) {
	if m.unloaded {
		return nil, failure("finding a kernel", cudart.ErrNotFound, "%s is unloaded", m.name)
	}
	k, err := m.program.Kernel(entry)
	switch {
	case errors.Is(err, exec.ErrNoKernel):
		return nil, failure("finding a kernel", cudart.ErrNotFound, "%s has no kernel %s", m.name, entry)
	case err != nil:
		return nil, failure("compiling kernel "+entry, cudart.ErrInvalidPTX, "%v", err)
	}
	run := m.device.run
	run.kernels = useKernel(run.kernels, m.name, entry, 0)
	return &kernel{module: m, code: k}, nil
}

func (m *module) Global(name string) (cudart.DevicePtr, int64, error) {
	at, size, ok := m.program.Variable(name)
	if !ok || m.unloaded {
		return 0, 0, failure("finding a variable", cudart.ErrNotFound, "%s has no .global or .const variable %s", m.name,
			name)
	}
	return cudart.DevicePtr(m.image.base + uint64(at)), size, nil
}

// Unload waits for all work on the device.
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
