package driver

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExportFile makes a file descriptor by which another process of this machine can
// import memory, or a multicast object, that was made for files. It is closed on
// exec, and the caller closes it.
func (d *device) ExportFile(handle uint64) (*os.File, error) {
	// A child that is forked before the flag is set would keep the memory alive.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd := int32(-1)
	err := d.api.call(d.api.memExport, uintptr(unsafe.Pointer(&fd)), uintptr(handle), handleFile, 0)
	if err != nil {
		return nil, fmt.Errorf("exporting a file descriptor: %w", err)
	}
	unix.CloseOnExec(int(fd))
	return os.NewFile(uintptr(fd), "exported device memory"), nil
}

// ImportFile returns a handle of what another process exported, to be given back
// with ReleaseMemory. The file stays the caller's and may be closed at once.
func (d *device) ImportFile(file *os.File) (uint64, error) {
	handle, err := d.importHandle(file.Fd(), handleFile)
	runtime.KeepAlive(file)
	return handle, err
}

// ExportFabric makes a handle by which a process of the fabric can import memory,
// or a multicast object, that was made for fabric handles.
func (d *device) ExportFabric(handle uint64) ([64]byte, error) {
	var fabric [64]byte
	err := d.api.call(d.api.memExport, uintptr(unsafe.Pointer(&fabric)), uintptr(handle), handleFabric, 0)
	if err != nil {
		return fabric, fmt.Errorf("exporting a fabric handle: %w", err)
	}
	return fabric, nil
}

// ImportFabric returns a handle of what another process exported, to be given
// back with ReleaseMemory.
func (d *device) ImportFabric(fabric [64]byte) (uint64, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&fabric)
	return d.importHandle(uintptr(unsafe.Pointer(&fabric)), handleFabric)
}

// importHandle takes a descriptor itself, or the address of a fabric handle.
func (d *device) importHandle(from uintptr, kind uintptr) (uint64, error) {
	p := physical{dev: d}
	if err := d.api.call(d.api.memImport, uintptr(unsafe.Pointer(&p.handle)), from, kind); err != nil {
		return 0, fmt.Errorf("importing a handle: %w", err)
	}
	d.own(p)
	return p.handle, nil
}
