package host

import (
	"strings"

	"gpurun/cudart/nvml"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/xid"
)

// ListGPUs asks NVML about the machine's GPUs. Without NVML there are none.
func ListGPUs() ([]dump.GPU, error) {
	library, err := nvml.Open(nvml.DefaultPaths()...)
	if err != nil {
		return nil, nil // a machine without NVIDIA's driver
	}
	defer library.Close()
	devices, err := library.Devices()
	if err != nil {
		return nil, err
	}
	xids := lastXids()
	var all []dump.GPU
	for _, d := range devices {
		use, err := library.Use(d.Index)
		if err != nil {
			return nil, err
		}
		gpu := dump.GPU{
			Index: d.Index, Name: d.Name, Utilisation: max(use.Utilisation, 0), MemoryUsed: uint64(use.Memory.Used),
			MemoryTotal: uint64(use.Memory.Total), Xid: xids[strings.TrimSuffix(strings.ToLower(d.PCIBusID), ".0")],
		}
		for _, process := range use.Processes {
			gpu.Processes = append(gpu.Processes, process.PID)
		}
		all = append(all, gpu)
	}
	return all, nil
}

// lastXids are the last errors of each GPU since the machine has started, by PCI address, where this user may read the
// kernel's log.
func lastXids() map[string]uint64 {
	log, err := xid.OpenLog(false)
	if err != nil {
		return nil
	}
	defer log.Close()
	last := map[string]uint64{}
	for _, e := range log.Next() {
		last[e.PCI] = e.Code
	}
	return last
}
