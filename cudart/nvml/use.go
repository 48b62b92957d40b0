package nvml

import (
	"errors"
	"fmt"
	"unsafe"
)

// Use is what uses a GPU now.
type Use struct {
	Utilisation int // percent of the last sample period in which a kernel ran; -1 where it is not told
	Memory      MemoryUse
	Processes   []Process
}

// utilization is nvmlUtilization_t, in percent.
type utilization struct{ GPU, Memory uint32 }

// Use asks what uses a GPU, by its index.
func (l *Library) Use(index int) (Use, error) {
	device, err := l.handle(index)
	if err != nil {
		return Use{}, fmt.Errorf("asking NVML about GPU %d: %w", index, err)
	}
	var u utilization
	var h Health
	use := Use{Utilisation: -1}
	utilizationErr := call(l.fns.utilization, device, uintptr(unsafe.Pointer(&u)))
	if utilizationErr == nil {
		use.Utilisation = int(u.GPU)
	}
	var failures []error
	for _, err := range []error{utilizationErr, l.askMemory(device, &h), l.askProcesses(device, &h)} {
		if err != nil && !unknowable(err) {
			failures = append(failures, err)
		}
	}
	if h.Memory != nil {
		use.Memory = *h.Memory
	}
	use.Processes = h.Processes
	if len(failures) > 0 {
		return use, fmt.Errorf("asking NVML about the use of GPU %d: %w", index, errors.Join(failures...))
	}
	return use, nil
}
