package sim

import (
	"os"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// ImportHost maps the whole of a memfd that any process of this machine made
// and sealed against shrinking: what a GPU does with host memory. The file
// stays the caller's; CloseHost ends the mapping. Any other file is
// ErrInvalidValue.
func (d *Device) ImportHost(f *os.File) (cudart.DevicePtr, error) {
	const op = "importing host memory"
	if err := d.sticky(); err != nil {
		return 0, err
	}
	have, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || have&unix.F_SEAL_SHRINK == 0 {
		return 0, failure(op, cudart.ErrInvalidValue, "the descriptor is no memfd that is sealed against shrinking")
	}
	info, err := f.Stat()
	if err != nil {
		return 0, failedBy(op, err)
	}
	if size := info.Size(); size == 0 || size >= 1<<exec.RegionShift {
		return 0, failure(op, cudart.ErrInvalidValue, "the memfd has %d bytes", size)
	}
	a, err := d.memory.mapFile(f)
	if err != nil {
		return 0, failedBy(op, err)
	}
	return cudart.DevicePtr(a.base), nil
}

// CloseHost waits for all work on the device and then unmaps what ImportHost
// mapped.
func (d *Device) CloseHost(ptr cudart.DevicePtr) error { return d.Free(ptr) }
