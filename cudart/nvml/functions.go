package nvml

import "gpurun/cudart/dl"

// functions are the entry points that this package calls.
type functions struct {
	init, shutdown, driverVersion, count, handle dl.Func
	name, uuid, pci, memory, capability          dl.Func

	// Those that an old driver may lack.
	libraryVersion, cudaVersion                dl.Func
	memory2, mig, eccMode, eccErrors, remapped dl.Func
	processes, slowdown, fabric, utilization   dl.Func
	ancestor, p2p, linkState, linkRemote       dl.Func
	eventSetCreate, eventSetWait, eventSetFree dl.Func
	registerEvents                             dl.Func
}

func bind(lib *dl.Library) (functions, error) {
	var f functions
	err := lib.Bind(
		dl.Required(&f.init, "nvmlInit_v2"),
		dl.Required(&f.shutdown, "nvmlShutdown"),
		dl.Required(&f.driverVersion, "nvmlSystemGetDriverVersion"),
		dl.Required(&f.count, "nvmlDeviceGetCount_v2"),
		dl.Required(&f.handle, "nvmlDeviceGetHandleByIndex_v2"),
		dl.Required(&f.name, "nvmlDeviceGetName"),
		dl.Required(&f.uuid, "nvmlDeviceGetUUID"),
		dl.Required(&f.pci, "nvmlDeviceGetPciInfo_v3"),
		dl.Required(&f.memory, "nvmlDeviceGetMemoryInfo"),
		dl.Required(&f.capability, "nvmlDeviceGetCudaComputeCapability"),
		dl.Optional(&f.libraryVersion, "nvmlSystemGetNVMLVersion"),
		dl.Optional(&f.cudaVersion, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"),
		dl.Optional(&f.memory2, "nvmlDeviceGetMemoryInfo_v2"),
		dl.Optional(&f.mig, "nvmlDeviceGetMigMode"),
		dl.Optional(&f.eccMode, "nvmlDeviceGetEccMode"),
		dl.Optional(&f.eccErrors, "nvmlDeviceGetTotalEccErrors"),
		dl.Optional(&f.remapped, "nvmlDeviceGetRemappedRows"),
		dl.Optional(&f.processes, "nvmlDeviceGetComputeRunningProcesses_v3"),
		dl.Optional(&f.slowdown, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
		dl.Optional(&f.utilization, "nvmlDeviceGetUtilizationRates"),
		dl.Optional(&f.fabric, "nvmlDeviceGetGpuFabricInfoV"),
		dl.Optional(&f.ancestor, "nvmlDeviceGetTopologyCommonAncestor"),
		dl.Optional(&f.p2p, "nvmlDeviceGetP2PStatus"),
		dl.Optional(&f.linkState, "nvmlDeviceGetNvLinkState"),
		dl.Optional(&f.linkRemote, "nvmlDeviceGetNvLinkRemotePciInfo_v2"),
		dl.Optional(&f.eventSetCreate, "nvmlEventSetCreate"),
		dl.Optional(&f.eventSetWait, "nvmlEventSetWait_v2", "nvmlEventSetWait"),
		dl.Optional(&f.eventSetFree, "nvmlEventSetFree"),
		dl.Optional(&f.registerEvents, "nvmlDeviceRegisterEvents"),
	)
	return f, err
}
