package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// ipcLazyPeerAccess is CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: the driver lets this
// GPU into the memory's GPU, whichever ordinal that has here, if any.
const ipcLazyPeerAccess = 1

// ipcHandle is CUipcMemHandle, which cuIpcOpenMemHandle takes by value.
type ipcHandle struct{ Reserved [64]byte }

// mapping is another process's memory.
type mapping struct {
	dev *device
	ptr cudart.DevicePtr
}

func (m mapping) release() error { return m.dev.api.call(m.dev.api.ipcCloseMemHandle, uintptr(m.ptr)) }

// ExportIPC makes a handle by which another process of this machine can map
// the allocation that starts at ptr. The memory must not be freed while a
// process maps it.
func (d *device) ExportIPC(ptr cudart.DevicePtr) ([64]byte, error) {
	var h ipcHandle
	if _, ok := d.owned[allocation{d, ptr}]; !ok {
		return h.Reserved, &cudart.Error{
			Op: "cuIpcGetMemHandle", Code: cudart.ErrInvalidValue,
			Detail: fmt.Sprintf("%#x is not the start of an allocation", ptr),
		}
	}
	err := d.api.call(d.api.ipcGetMemHandle, uintptr(unsafe.Pointer(&h)), uintptr(ptr))
	return h.Reserved, err
}

// ImportIPC maps the memory that another process exported. A process cannot
// import its own handles. The caller ends the mapping with CloseIPC.
func (d *device) ImportIPC(handle [64]byte) (cudart.DevicePtr, error) {
	var ptr cudart.DevicePtr
	code := d.api.openIPC(&ptr, ipcHandle{handle}, ipcLazyPeerAccess)
	if err := d.api.check(d.api.ipcOpenMemHandle, code); err != nil {
		return 0, err
	}
	d.own(mapping{d, ptr})
	return ptr, nil
}

// CloseIPC unmaps what ImportIPC mapped.
func (d *device) CloseIPC(ptr cudart.DevicePtr) error {
	m := mapping{d, ptr}
	if !d.disown(m) {
		return &cudart.Error{
			Op: "cuIpcCloseMemHandle", Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf("%#x is no live mapping", ptr),
		}
	}
	return m.release()
}
