package driver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// CUdevice_attribute numbers.
const (
	attrSMs         = 16
	attrPCIBus      = 33
	attrPCIDevice   = 34
	attrPCIDomain   = 50
	attrComputeHigh = 75
	attrComputeLow  = 76
	attrMaxShared   = 97 // of a block that has asked for it
)

// nameBytes is room for a device name; the driver cuts longer ones.
const nameBytes = 256

// device is an open GPU. All its methods, and those of what it hands out, run
// on the thread that opened it, where its context is current.
type device struct {
	api    *api
	handle int32 // CUdevice
	info   cudart.Info
	launch *launchBlock
	owned  map[resource]int // to its place in the order of creation
	made   int
	closed bool
}

// resource is something that belongs to a device and ends with it at last.
type resource interface {
	release() error
}

func (d *device) own(r resource) {
	d.made++
	d.owned[r] = d.made
}

// disown forgets r and reports whether it was still there.
func (d *device) disown(r resource) bool {
	_, ok := d.owned[r]
	delete(d.owned, r)
	return ok
}

// closeOwned releases r unless that has happened already.
func (d *device) closeOwned(r resource) error {
	if !d.disown(r) {
		return nil
	}
	return r.release()
}

func open(a *api, ordinal int) (*device, error) {
	count, err := a.initAndCount()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= count {
		return nil, &cudart.Error{
			Op: "cuDeviceGet", Code: cudart.ErrInvalidDevice,
			Detail: fmt.Sprintf("there are %d visible GPUs, counted from 0", count),
		}
	}
	handle, info, err := a.describe(ordinal)
	if err != nil {
		return nil, err
	}
	var context uintptr
	if err := a.call(a.primaryCtxRetain, uintptr(unsafe.Pointer(&context)), uintptr(handle)); err != nil {
		return nil, err
	}
	if err := a.call(a.ctxSetCurrent, context); err != nil {
		return nil, errors.Join(err, a.call(a.primaryCtxRelease, uintptr(handle)))
	}
	return &device{api: a, handle: handle, info: info, launch: newLaunchBlock(), owned: map[resource]int{}}, nil
}

// initAndCount initializes CUDA, which may be done any number of times, and
// counts the visible GPUs.
func (a *api) initAndCount() (int, error) {
	if err := a.call(a.init, 0); err != nil {
		return 0, err
	}
	var count int32
	err := a.call(a.deviceGetCount, uintptr(unsafe.Pointer(&count)))
	if err == nil && count == 0 {
		err = a.check(a.deviceGetCount, int32(cudart.ErrNoDevice))
	}
	return int(count), err
}

// identify finds the GPU with an ordinal and its UUID.
func (a *api) identify(ordinal int) (handle int32, uuid string, err error) {
	if err = a.call(a.deviceGet, uintptr(unsafe.Pointer(&handle)), uintptr(ordinal)); err != nil {
		return 0, "", err
	}
	var id [16]byte
	err = a.call(a.deviceGetUUID, uintptr(unsafe.Pointer(&id)), uintptr(handle))
	return handle, fmt.Sprintf("GPU-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), err
}

// describe asks for everything in cudart.Info. It needs no context.
func (a *api) describe(ordinal int) (int32, cudart.Info, error) {
	handle, uuid, err := a.identify(ordinal)
	if err != nil {
		return 0, cudart.Info{}, err
	}
	var (
		bytes uint64
		name  = make([]byte, nameBytes)
		value = map[int]int32{}
	)
	failures := []error{
		a.call(a.deviceGetName, uintptr(unsafe.Pointer(&name[0])), nameBytes, uintptr(handle)),
		a.call(a.deviceTotalMem, uintptr(unsafe.Pointer(&bytes)), uintptr(handle)),
	}
	for _, attr := range []int{attrSMs, attrPCIBus, attrPCIDevice, attrPCIDomain, attrComputeHigh, attrComputeLow} {
		var v int32
		failures = append(failures, a.call(a.deviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(attr), uintptr(handle)))
		value[attr] = v
	}
	version, err := a.version()
	return handle, cudart.Info{
		Backend:     "cuda",
		Ordinal:     ordinal,
		Name:        dl.Text(name),
		UUID:        uuid,
		PCIBusID:    fmt.Sprintf("%04x:%02x:%02x.0", value[attrPCIDomain], value[attrPCIBus], value[attrPCIDevice]),
		Major:       int(value[attrComputeHigh]),
		Minor:       int(value[attrComputeLow]),
		SMs:         int(value[attrSMs]),
		TotalMemory: int64(bytes),
		Driver:      version,

		LaunchesBlock: launchesBlock(os.Getenv("CUDA_LAUNCH_BLOCKING")),
	}, errors.Join(append(failures, err)...)
}

// launchesBlock reads the value of CUDA_LAUNCH_BLOCKING.
func launchesBlock(value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}

// version is the kernel driver's version, as NVML gives it, or where the
// kernel does not show it the CUDA version that libcuda implements.
func (a *api) version() (string, error) {
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	var number int32
	err := a.call(a.driverGetVersion, uintptr(unsafe.Pointer(&number)))
	return fmt.Sprintf("CUDA %d.%d", number/1000, number%1000/10), err
}

// Info describes the device.
func (d *device) Info() cudart.Info { return d.info }

// Close releases what the device still owns, last made first, and gives the
// thread back. After a crashed kernel every release fails alike: the first
// failure stands for all. A second Close does nothing.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	var failures []error
	newestFirst := func(a, b resource) int { return cmp.Compare(d.owned[b], d.owned[a]) }
	for _, r := range slices.SortedFunc(maps.Keys(d.owned), newestFirst) {
		failures = append(failures, r.release())
	}
	clear(d.owned)
	d.launch.unpin()
	failures = append(
		failures,
		d.api.call(d.api.ctxSetCurrent, 0),
		d.api.call(d.api.primaryCtxRelease, uintptr(d.handle)),
	)
	runtime.UnlockOSThread()
	for _, err := range failures {
		if err != nil {
			return fmt.Errorf("closing GPU %d: %w", d.info.Ordinal, err)
		}
	}
	return nil
}
