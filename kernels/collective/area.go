package collective

import "gpurun/cudart"

// Area is symmetric memory of one algorithm: no other algorithm writes it, and it keeps its contents from call to call.
type Area struct {
	Name  string
	Bytes int64 // of each copy
	// Copies is how many copies the area has, which calls use in turn; 0: one.
	Copies int
	// Host: the area is memory of the host, which the algorithm allocates. It takes no symmetric memory.
	Host bool
}

// copyAlignment is what copies are aligned to: as by cudaMalloc.
const copyAlignment = 256

// Count is the number of copies.
func (a *Area) Count() int64 { return int64(max(a.Copies, 1)) }

// Step is the number of bytes from the beginning of a copy to that of the next. Between them is memory that no call may
// write to: at least copyAlignment bytes.
func (a *Area) Step() int64 {
	return (a.Bytes+copyAlignment-1)/copyAlignment*copyAlignment + copyAlignment
}

// Total is the size of all copies, with what lies between them, in bytes.
func (a *Area) Total() int64 { return (a.Count()-1)*a.Step() + a.Bytes }

// PlacedArea is an area in symmetric memory: Offset bytes from its base, and as large as the largest call of the job
// needs it.
type PlacedArea struct {
	Area
	Offset int64
}

// Areas are the areas of an algorithm, which is a pointer to an [Algorithm] or to one of a product of matrices. They
// are in the order of its function Areas, and the same on all ranks and for all calls.
func (c *Comm) Areas(algorithm any) []PlacedArea { return c.cfg.Areas[algorithm] }

// State is what an algorithm keeps in the Comm between calls. make makes it for the first of them.
func (c *Comm) State(algorithm any, make func() any) any {
	s, ok := c.states[algorithm]
	if !ok {
		s = make()
		c.states[algorithm] = s
	}
	return s
}

// LoadCode loads code that is none of the catalog's modules: PTX, or a binary for GPUs. It is loaded once for each
// name, and unloaded with the Comm.
func (c *Comm) LoadCode(name string, code []byte) (cudart.Module, error) {
	return c.moduleOf([2]string{name, ""}, func() ([]byte, error) { return code, nil })
}

// Device is the rank's device.
func (c *Comm) Device() cudart.Device { return c.cfg.Device }

// SMs is the least number of multiprocessors among the ranks' devices.
func (c *Comm) SMs() int { return c.cfg.SMs }

// MaxBlocks is the user's bound on every grid, or 0.
func (c *Comm) MaxBlocks() int { return c.cfg.MaxBlocks }

// Multicast is the multicast address at an offset from the base, or 0 where there is none.
func (c *Comm) Multicast(offset int64) cudart.DevicePtr {
	if c.cfg.Multicast == 0 {
		return 0
	}
	return c.cfg.Multicast + cudart.DevicePtr(offset)
}

// TimeoutNS bounds a wait for a peer, in nanoseconds.
func (c *Comm) TimeoutNS() int64 { return int64(c.base.TimeoutNS) }
