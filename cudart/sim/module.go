package sim

import (
	"strings"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/ptx"
)

// The newest PTX that the simulator knows.
const isaMajor, isaMinor = 9, 0

// module is compiled PTX with its variables in device memory.
type module struct {
	device   *Device
	name     string
	program  *exec.Program
	image    *allocation // nil without variables
	unloaded bool
}

// LoadModule parses and compiles PTX, all of it: an instruction that the
// simulator lacks is an error here and not when a kernel reaches it.
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
	if c.invalid != nil {
		return nil, failure(op, cudart.ErrInvalidPTX, "%v", c.invalid)
	}
	if err := d.checkTarget(op, c.header); err != nil {
		return nil, err
	}
	if c.refused != nil {
		return nil, failure(op, cudart.ErrInvalidPTX, "%v", c.refused)
	}
	m := &module{device: d, name: name, program: c.program}
	return m, m.place()
}

func (d *Device) checkTarget(op string, m *ptx.Module) error {
	switch {
	case m.Major > isaMajor || m.Major == isaMajor && m.Minor > isaMinor:
		return failure(op, cudart.ErrUnsupportedPTX, "%s is PTX %d.%d, and the simulator knows PTX up to %d.%d",
			m.Name, m.Major, m.Minor, isaMajor, isaMinor)
	case m.SM > 10*d.info.Major+d.info.Minor:
		return failure(op, cudart.ErrNoBinaryForGPU, "%s is for %s, and the simulator is a device of compute capability %d.%d; --sim-arch can be %s",
			m.Name, m.Target, d.info.Major, d.info.Minor, strings.Join(Arches(), ", "))
	case m.Feature != "" && m.Target != "sm_90a" && m.Target != "sm_100a":
		return failure(op, cudart.ErrNoBinaryForGPU, "%s is for %s; of the specific targets the simulator takes sm_90a and sm_100a",
			m.Name, m.Target)
	}
	return nil
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
