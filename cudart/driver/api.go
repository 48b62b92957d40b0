package driver

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// api is the part of the CUDA driver API that gpurun calls. Names, argument
// orders and constants are cuda.h's; the versioned names (_v2) are those that
// cuda.h maps the plain ones to.
type api struct {
	init, driverGetVersion, getErrorString dl.Func

	deviceGetCount, deviceGet, deviceGetAttribute, deviceGetName  dl.Func
	deviceGetUUID, deviceTotalMem                                 dl.Func
	deviceCanAccessPeer                                           dl.Func
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent            dl.Func
	memAlloc, memFree, memHostAlloc, memFreeHost, memHostPointer  dl.Func
	memHostRegister, memHostUnregister                            dl.Func
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync, memsetD8   dl.Func
	ipcGetMemHandle, ipcOpenMemHandle, ipcCloseMemHandle          dl.Func
	moduleLoadDataEx, moduleUnload, moduleGetFunction             dl.Func
	moduleGetGlobal                                               dl.Func
	funcGetAttribute, funcSetAttribute, funcGetParamInfo          dl.Func
	launchKernel, launchKernelEx, occupancy                       dl.Func
	tensorMapEncodeTiled                                          dl.Func
	streamCreate, streamDestroy, streamQuery, streamSynchronize   dl.Func
	streamBeginCapture, streamEndCapture                          dl.Func
	streamCreateWithPriority, streamPriorityRange                 dl.Func
	streamWaitEvent, streamWriteValue, streamWaitValue            dl.Func
	eventCreate, eventDestroy, eventRecord, eventElapsedTime      dl.Func
	graphInstantiate, graphDestroy, graphExecDestroy, graphLaunch dl.Func
	graphCreate, graphAddKernelNode, graphExecSetKernelParams     dl.Func
	graphUpload                                                   dl.Func

	memGetAllocationGranularity, memCreate, memRelease    dl.Func
	memExport, memImport                                  dl.Func
	memAddressReserve, memAddressFree                     dl.Func
	memMap, memUnmap, memSetAccess                        dl.Func
	multicastGetGranularity, multicastCreate              dl.Func
	multicastAddDevice, multicastBindMem, multicastUnbind dl.Func

	// openIPC is ipcOpenMemHandle, whose 64-byte handle travels by value and
	// so has no place among the integers of a dl.Func.
	openIPC func(ptr *cudart.DevicePtr, handle ipcHandle, flags uint32) int32
}

func (a *api) bindings() []dl.Binding {
	return slices.Concat(a.coreBindings(), a.vmmBindings(), a.multicastBindings())
}

// vmmBindings are those of virtual memory management, since CUDA 10.2.
func (a *api) vmmBindings() []dl.Binding {
	return []dl.Binding{
		dl.Optional(&a.memGetAllocationGranularity, "cuMemGetAllocationGranularity"),
		dl.Optional(&a.memCreate, "cuMemCreate"),
		dl.Optional(&a.memRelease, "cuMemRelease"),
		dl.Optional(&a.memExport, "cuMemExportToShareableHandle"),
		dl.Optional(&a.memImport, "cuMemImportFromShareableHandle"),
		dl.Optional(&a.memAddressReserve, "cuMemAddressReserve"),
		dl.Optional(&a.memAddressFree, "cuMemAddressFree"),
		dl.Optional(&a.memMap, "cuMemMap"),
		dl.Optional(&a.memUnmap, "cuMemUnmap"),
		dl.Optional(&a.memSetAccess, "cuMemSetAccess"),
	}
}

// multicastBindings are those of multicast objects, since CUDA 12.1.
func (a *api) multicastBindings() []dl.Binding {
	return []dl.Binding{
		dl.Optional(&a.multicastGetGranularity, "cuMulticastGetGranularity"),
		dl.Optional(&a.multicastCreate, "cuMulticastCreate"),
		dl.Optional(&a.multicastAddDevice, "cuMulticastAddDevice"),
		dl.Optional(&a.multicastBindMem, "cuMulticastBindMem"),
		dl.Optional(&a.multicastUnbind, "cuMulticastUnbind"),
	}
}

func (a *api) coreBindings() []dl.Binding {
	return []dl.Binding{
		dl.Required(&a.init, "cuInit"),
		dl.Required(&a.driverGetVersion, "cuDriverGetVersion"),
		dl.Required(&a.getErrorString, "cuGetErrorString"),
		dl.Required(&a.deviceGetCount, "cuDeviceGetCount"),
		dl.Required(&a.deviceGet, "cuDeviceGet"),
		dl.Required(&a.deviceGetAttribute, "cuDeviceGetAttribute"),
		dl.Required(&a.deviceGetName, "cuDeviceGetName"),
		dl.Required(&a.deviceGetUUID, "cuDeviceGetUuid_v2", "cuDeviceGetUuid"),
		dl.Required(&a.deviceTotalMem, "cuDeviceTotalMem_v2"),
		dl.Required(&a.deviceCanAccessPeer, "cuDeviceCanAccessPeer"),
		dl.Required(&a.primaryCtxRetain, "cuDevicePrimaryCtxRetain"),
		dl.Required(&a.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"),
		dl.Required(&a.ctxSetCurrent, "cuCtxSetCurrent"),
		dl.Required(&a.memAlloc, "cuMemAlloc_v2"),
		dl.Required(&a.memFree, "cuMemFree_v2"),
		dl.Required(&a.memHostAlloc, "cuMemHostAlloc"),
		dl.Required(&a.memFreeHost, "cuMemFreeHost"),
		dl.Required(&a.memHostPointer, "cuMemHostGetDevicePointer_v2"),
		dl.Required(&a.memHostRegister, "cuMemHostRegister_v2"),
		dl.Required(&a.memHostUnregister, "cuMemHostUnregister"),
		dl.Required(&a.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
		dl.Required(&a.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"),
		dl.Required(&a.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"),
		dl.Required(&a.memsetD8, "cuMemsetD8Async"),
		dl.Required(&a.ipcGetMemHandle, "cuIpcGetMemHandle"),
		dl.Required(&a.ipcOpenMemHandle, "cuIpcOpenMemHandle_v2"),
		dl.Required(&a.ipcCloseMemHandle, "cuIpcCloseMemHandle"),
		dl.Required(&a.moduleLoadDataEx, "cuModuleLoadDataEx"),
		dl.Required(&a.moduleUnload, "cuModuleUnload"),
		dl.Required(&a.moduleGetFunction, "cuModuleGetFunction"),
		dl.Required(&a.moduleGetGlobal, "cuModuleGetGlobal_v2"),
		dl.Required(&a.funcGetAttribute, "cuFuncGetAttribute"),
		dl.Required(&a.funcSetAttribute, "cuFuncSetAttribute"),
		dl.Optional(&a.funcGetParamInfo, "cuFuncGetParamInfo"), // since CUDA 12.4
		dl.Required(&a.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
		dl.Required(&a.launchKernel, "cuLaunchKernel"),
		dl.Optional(&a.launchKernelEx, "cuLaunchKernelEx"),             // since CUDA 11.8
		dl.Optional(&a.tensorMapEncodeTiled, "cuTensorMapEncodeTiled"), // since CUDA 12.0
		dl.Required(&a.streamCreate, "cuStreamCreate"),
		dl.Required(&a.streamCreateWithPriority, "cuStreamCreateWithPriority"),
		dl.Required(&a.streamPriorityRange, "cuCtxGetStreamPriorityRange"),
		dl.Required(&a.streamDestroy, "cuStreamDestroy_v2"),
		dl.Required(&a.streamQuery, "cuStreamQuery"),
		dl.Required(&a.streamSynchronize, "cuStreamSynchronize"),
		dl.Required(&a.streamWaitEvent, "cuStreamWaitEvent"),
		dl.Optional(&a.streamWriteValue, "cuStreamWriteValue32_v2"), // since CUDA 11.7
		dl.Optional(&a.streamWaitValue, "cuStreamWaitValue32_v2"),   // likewise
		dl.Required(&a.streamBeginCapture, "cuStreamBeginCapture_v2"),
		dl.Required(&a.streamEndCapture, "cuStreamEndCapture"),
		dl.Required(&a.eventCreate, "cuEventCreate"),
		dl.Required(&a.eventDestroy, "cuEventDestroy_v2"),
		dl.Required(&a.eventRecord, "cuEventRecord"),
		dl.Required(&a.eventElapsedTime, "cuEventElapsedTime_v2", "cuEventElapsedTime"),
		dl.Required(&a.graphInstantiate, "cuGraphInstantiateWithFlags"),
		dl.Required(&a.graphDestroy, "cuGraphDestroy"),
		dl.Required(&a.graphExecDestroy, "cuGraphExecDestroy"),
		dl.Required(&a.graphLaunch, "cuGraphLaunch"),
		dl.Required(&a.graphUpload, "cuGraphUpload"),
		dl.Required(&a.graphCreate, "cuGraphCreate"),
		dl.Required(&a.graphAddKernelNode, "cuGraphAddKernelNode"),
		dl.Required(&a.graphExecSetKernelParams, "cuGraphExecKernelNodeSetParams"),
	}
}

// load opens the first candidate library that the loader accepts and finds
// every function in it. It does not initialize CUDA.
func load(candidates []string) (*api, error) {
	lib, err := dl.Open(candidates...)
	if err != nil {
		return nil, fmt.Errorf("opening the CUDA driver: %w (it comes with the NVIDIA driver; "+
			"a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility)", err)
	}
	a := new(api)
	if err := lib.Bind(a.bindings()...); err != nil {
		return nil, fmt.Errorf("opening the CUDA driver: %w", err)
	}
	purego.RegisterFunc(&a.openIPC, a.ipcOpenMemHandle.Addr())
	return a, nil
}

// call calls f and turns its CUresult into an error.
//
//go:uintptrescapes
func (a *api) call(f dl.Func, args ...uintptr) error {
	if !f.Found() {
		return unsupported("libcuda.so.1", "the driver lacks a function that this needs; update the NVIDIA driver")
	}
	return a.check(f, f.Call(args...))
}

func (a *api) check(f dl.Func, code int32) error {
	if code == 0 {
		return nil
	}
	result := cudart.Result(code)
	detail := advice(result)
	if detail == "" {
		detail = a.errorString(code)
	}
	return &cudart.Error{Op: f.Name(), Code: result, Detail: detail}
}

// errorString is the driver's own wording for a code, or nothing.
func (a *api) errorString(code int32) string {
	var text uintptr // of the library's constant data
	a.getErrorString.Call(uintptr(code), uintptr(unsafe.Pointer(&text)))
	return dl.String(text)
}
