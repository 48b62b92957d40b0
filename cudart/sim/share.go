package sim

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// ExportFD returns a descriptor of the memory that Malloc returned as ptr, for
// another process to import. The caller closes it.
func (d *Device) ExportFD(ptr cudart.DevicePtr) (*os.File, error) {
	a, err := d.memory.find(ptr)
	if err != nil {
		return nil, failure("exporting device memory", cudart.ErrInvalidValue, "%v", err)
	}
	if a.file == nil || a.host {
		return nil, failure("exporting device memory", cudart.ErrInvalidValue, "%#x is no device memory of this process",
			uint64(ptr))
	}
	fd, err := unix.FcntlInt(a.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("exporting device memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "exported device memory"), nil
}

// ImportFD maps memory that another process exported, and leaves f to the
// caller. Free unmaps it. A descriptor of anything else is ErrInvalidHandle.
func (d *Device) ImportFD(f *os.File) (cudart.DevicePtr, error) {
	const op = "importing device memory"
	if err := d.sticky(); err != nil {
		return 0, err
	}
	have, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || have&seals != seals {
		return 0, failure(op, cudart.ErrInvalidHandle, "the descriptor is not exported device memory")
	}
	if info, err := f.Stat(); err != nil || info.Size() == 0 || info.Size()%granule != 0 {
		return 0, failure(op, cudart.ErrInvalidHandle, "the descriptor is not exported device memory: its size is wrong")
	}
	a, err := d.memory.mapFile(f)
	if err != nil {
		return 0, failedBy(op, err)
	}
	return cudart.DevicePtr(a.base), nil
}
