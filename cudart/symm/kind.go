package symm

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Kind is what symmetric memory is made of.
type Kind string

// The kinds of symmetric memory. The zero Kind is Auto.
const (
	// Auto is VMM where all devices can, else IPC, and on simulated devices,
	// whose memory is a file, that file.
	Auto Kind = "auto"
	// IPC is memory of the device, passed on by cuIpcGetMemHandle.
	IPC Kind = "ipc"
	// VMM is memory of the device, passed on by a file descriptor or a fabric
	// handle (cuMemCreate). It alone of the device's own can have a multicast
	// address.
	VMM Kind = "vmm"
	// NVSHMEMHeap is memory of the device that NVSHMEM allocates and maps.
	NVSHMEMHeap Kind = "nvshmem"
	// Host is memory of the host, which every GPU of the machine reaches without
	// peer access, and slowly. Over PCIe, atomics that read and write are not
	// atomic among GPUs there; loads and stores keep their order.
	Host Kind = "host"
	// Private is memory of the device that no peer maps, for ranks on several
	// machines: Peers holds the own entry only, and Free waits for nobody.
	Private Kind = "private"
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

// choice is a kind and the backends that it may be on a device, best first. There
// are none where the device cannot do it.
type choice struct {
	kind Kind
	ways []backend
}

func (m *Memory) choices(dev cudart.Device) []choice {
	vmm, ipc := byVMM(dev, m), byIPC(dev)
	return []choice{
		{Auto, slices.Concat(vmm, ipc, bySim(dev))},
		{VMM, vmm},
		{IPC, ipc},
		{NVSHMEMHeap, byNVSHMEM(dev, m)},
		{Host, byHost(dev, m.ex.WorldSize())},
		{Private, []backend{private{dev}}},
	}
}

// choose finds the backends that may be what the options ask for.
func (m *Memory) choose(dev cudart.Device) ([]backend, error) {
	all, o := m.choices(dev), m.options
	i := slices.IndexFunc(all, func(c choice) bool { return c.kind == o.kind() })
	switch {
	case i < 0:
		return nil, &UnsupportedError{o.Kind, "there is no such kind; there are " + kinds(all)}
	case len(all[i].ways) == 0:
		able := slices.DeleteFunc(all, func(c choice) bool { return len(c.ways) == 0 })
		return nil, &UnsupportedError{o.kind(), fmt.Sprintf("device %q (%s) has no way to share memory so; it can do %s",
			dev.Info().Name, dev.Info().Backend, kinds(able))}
	case o.Multicast:
		return admitMulticast(all[i].ways)
	}
	return all[i].ways, nil
}

func kinds(all []choice) string {
	var names []string
	for _, c := range all {
		names = append(names, string(c.kind))
	}
	return strings.Join(names, ", ")
}
