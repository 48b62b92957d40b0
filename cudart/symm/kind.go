package symm

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Kind names a memory backend: what symmetric memory is made of, and how peers map it. What follows from
// it, [Kind.Traits] says.
type Kind string

// The kinds of symmetric memory. The zero Kind is Auto.
const (
	// Auto is VMM where all devices have it, else IPC, and Simulated on simulated devices.
	Auto Kind = "auto"
	// IPC is memory of the device, passed on by cuIpcGetMemHandle.
	IPC Kind = "ipc"
	// VMM is memory of the device, passed on by a file descriptor or a fabric
	// handle (cuMemCreate).
	VMM Kind = "vmm"
	// NVSHMEMHeap is memory of the device that NVSHMEM allocates and maps.
	NVSHMEMHeap Kind = "nvshmem"
	// Host is memory of the host, which every GPU of the machine reaches without
	// peer access, and slowly. Over PCIe, atomics that read and write are not
	// atomic among GPUs there; loads and stores keep their order.
	Host Kind = "host"
	// Private is memory of the device that no peer maps, for ranks on several
	// machines: Peers holds the own entry only, and Free waits for no peer.
	Private Kind = "private"
	// Simulated is the memory of simulated devices: a file that peers map.
	Simulated Kind = "sim"
)

// UnsupportedError says that a kind of memory cannot be had from the devices
// here. All of them are asked before anything is allocated.
type UnsupportedError struct {
	Kind   Kind
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("symmetric memory of kind %s: %s", e.Kind, e.Reason)
}

// findBackends finds the backends that may be what the options ask for, best first.
func (m *Memory) findBackends(dev cudart.Device) ([]backend, error) {
	rows, o := table(), m.options
	i := slices.IndexFunc(rows, func(r row) bool { return r.kind == o.kind() })
	if i < 0 {
		return nil, &UnsupportedError{o.Kind, "there is no such kind; there are " + kinds(rows)}
	}
	candidates := rows[i].candidates(dev, m)
	switch {
	case len(candidates) == 0:
		able := slices.DeleteFunc(rows, func(r row) bool { return len(r.candidates(dev, m)) == 0 })
		return nil, &UnsupportedError{o.kind(), fmt.Sprintf("device %q (%s) has no way to share memory so; it can do %s",
			dev.Info().Name, dev.Info().Backend, kinds(able))}
	case o.Multicast:
		return supportingMulticast(candidates)
	}
	return candidates, nil
}

func kinds(rows []row) string {
	var names []string
	for _, r := range rows {
		names = append(names, string(r.kind))
	}
	return strings.Join(names, ", ")
}
