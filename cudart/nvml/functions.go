package nvml

import (
	"errors"

	"gpurun/cudart/dl"
)

// functions are the entry points that this package calls.
type functions struct {
	init, shutdown, driverVersion, count, handle dl.Func
	name, uuid, pci, memory, capability          dl.Func

	// Those that an old driver may lack.
	libraryVersion, cudaVersion                dl.Func
	memory2, mig, eccMode, eccErrors, remapped dl.Func
	processes, slowdown, fabric                dl.Func
	ancestor, p2p, linkState, linkRemote       dl.Func
}

func bind(lib *dl.Library) (functions, error) {
	var f functions
	var failures []error
	for _, entry := range []struct {
		to   *dl.Func
		name string
	}{
		{&f.init, "nvmlInit_v2"},
		{&f.shutdown, "nvmlShutdown"},
		{&f.driverVersion, "nvmlSystemGetDriverVersion"},
		{&f.count, "nvmlDeviceGetCount_v2"},
		{&f.handle, "nvmlDeviceGetHandleByIndex_v2"},
		{&f.name, "nvmlDeviceGetName"},
		{&f.uuid, "nvmlDeviceGetUUID"},
		{&f.pci, "nvmlDeviceGetPciInfo_v3"},
		{&f.memory, "nvmlDeviceGetMemoryInfo"},
		{&f.capability, "nvmlDeviceGetCudaComputeCapability"},
	} {
		var err error
		*entry.to, err = lib.Func(entry.name)
		failures = append(failures, err)
	}
	f.bindOptional(lib)
	return f, errors.Join(failures...)
}

// bindOptional leaves those zero that the library lacks.
func (f *functions) bindOptional(lib *dl.Library) {
	for _, entry := range []struct {
		to    *dl.Func
		names []string
	}{
		{&f.libraryVersion, []string{"nvmlSystemGetNVMLVersion"}},
		{&f.cudaVersion, []string{"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
		{&f.memory2, []string{"nvmlDeviceGetMemoryInfo_v2"}},
		{&f.mig, []string{"nvmlDeviceGetMigMode"}},
		{&f.eccMode, []string{"nvmlDeviceGetEccMode"}},
		{&f.eccErrors, []string{"nvmlDeviceGetTotalEccErrors"}},
		{&f.remapped, []string{"nvmlDeviceGetRemappedRows"}},
		{&f.processes, []string{"nvmlDeviceGetComputeRunningProcesses_v3"}},
		{&f.slowdown, []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
		{&f.fabric, []string{"nvmlDeviceGetGpuFabricInfoV"}},
		{&f.ancestor, []string{"nvmlDeviceGetTopologyCommonAncestor"}},
		{&f.p2p, []string{"nvmlDeviceGetP2PStatus"}},
		{&f.linkState, []string{"nvmlDeviceGetNvLinkState"}},
		{&f.linkRemote, []string{"nvmlDeviceGetNvLinkRemotePciInfo_v2"}},
	} {
		if found, err := lib.Func(entry.names...); err == nil {
			*entry.to = found
		}
	}
}
