package nvml

import (
	"errors"
	"fmt"
	"unsafe"
)

// xidEvent is nvmlEventTypeXidCriticalError.
const xidEvent = 0x8

// XidEvents are the errors that the driver reports of some GPUs.
type XidEvents struct {
	library *Library
	set     uintptr         // nvmlEventSet_t
	indexes map[uintptr]int // by nvmlDevice_t
}

// eventData is nvmlEventData_t, 32 bytes.
type eventData struct {
	Device                         uintptr
	Type, Data                     uint64
	GPUInstance, ComputeInstanceID uint32
}

// WatchXids has the driver note the errors of GPUs, by their indexes, from now on. It fails where the driver does not
// support that, as for instances of MIG. The caller closes the events before the library.
func (l *Library) WatchXids(indexes []int) (*XidEvents, error) {
	e := &XidEvents{library: l, indexes: map[uintptr]int{}}
	if err := call(l.fns.eventSetCreate, uintptr(unsafe.Pointer(&e.set))); err != nil {
		return nil, fmt.Errorf("watching for errors of GPUs: %w", err)
	}
	for _, index := range indexes {
		device, err := l.handle(index)
		if err == nil {
			err = call(l.fns.registerEvents, device, xidEvent, e.set)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watching for errors of GPU %d: %w", index, err), e.Close())
		}
		e.indexes[device] = index
	}
	return e, nil
}

// Next returns the index of a GPU, and an error of it that has not been returned yet. ok is false if there is none.
func (e *XidEvents) Next() (index int, xid uint64, ok bool, err error) {
	for {
		var data eventData
		const noWait = 0 // milliseconds
		err := call(e.library.fns.eventSetWait, e.set, uintptr(unsafe.Pointer(&data)), noWait)
		if errors.Is(err, ErrTimeout) {
			return 0, 0, false, nil
		}
		if err != nil {
			return 0, 0, false, fmt.Errorf("asking for errors of GPUs: %w", err)
		}
		if index, known := e.indexes[data.Device]; known && data.Type == xidEvent {
			return index, data.Data, true, nil
		}
	}
}

// Close ends the watch.
func (e *XidEvents) Close() error { return call(e.library.fns.eventSetFree, e.set) }

// Lost says that a GPU does not work until it is reset or the machine restarts, by its index: the error wraps
// ErrGPUIsLost or ErrResetRequired. It is nil if the GPU answers, and if it refuses to for another reason.
func (l *Library) Lost(index int) error {
	device, err := l.handle(index)
	if err == nil {
		var m memory
		var u utilization
		err = errors.Join(
			check(l.fns.memory, l.fns.memory.Call(device, uintptr(unsafe.Pointer(&m)))),
			call(l.fns.utilization, device, uintptr(unsafe.Pointer(&u))),
		)
	}
	for _, lost := range []Return{ErrGPUIsLost, ErrResetRequired} {
		if errors.Is(err, lost) {
			return fmt.Errorf("GPU %d does not answer: %w", index, lost)
		}
	}
	return nil
}

// Count is the number of GPUs that this process may see.
func (l *Library) Count() (int, error) {
	var count uint32
	err := check(l.fns.count, l.fns.count.Call(uintptr(unsafe.Pointer(&count))))
	return int(count), err
}
