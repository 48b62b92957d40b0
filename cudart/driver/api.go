package driver

import (
	"errors"
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
	deviceCanAccessPeer, deviceGetP2PAttribute                    dl.Func
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent            dl.Func
	memAlloc, memFree, memHostAlloc, memFreeHost, memHostPointer  dl.Func
	memHostRegister, memHostUnregister                            dl.Func
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync, memsetD8   dl.Func
	ipcGetMemHandle, ipcOpenMemHandle, ipcCloseMemHandle          dl.Func
	moduleLoadDataEx, moduleUnload, moduleGetFunction             dl.Func
	funcGetAttribute, funcSetAttribute, funcGetParamInfo          dl.Func
	launchKernel, launchKernelEx                                  dl.Func
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

// entry says which function of the library belongs into which field.
type entry struct {
	to       *dl.Func
	names    []string // first found wins
	optional bool
}

func one(to *dl.Func, names ...string) entry { return entry{to: to, names: names} }

func optional(to *dl.Func, names ...string) entry { return entry{to: to, names: names, optional: true} }

func (a *api) entries() []entry {
	return slices.Concat(a.coreEntries(), a.vmmEntries(), a.multicastEntries())
}

// vmmEntries is virtual memory management, since CUDA 10.2.
func (a *api) vmmEntries() []entry {
	return []entry{
		optional(&a.memGetAllocationGranularity, "cuMemGetAllocationGranularity"),
		optional(&a.memCreate, "cuMemCreate"),
		optional(&a.memRelease, "cuMemRelease"),
		optional(&a.memExport, "cuMemExportToShareableHandle"),
		optional(&a.memImport, "cuMemImportFromShareableHandle"),
		optional(&a.memAddressReserve, "cuMemAddressReserve"),
		optional(&a.memAddressFree, "cuMemAddressFree"),
		optional(&a.memMap, "cuMemMap"),
		optional(&a.memUnmap, "cuMemUnmap"),
		optional(&a.memSetAccess, "cuMemSetAccess"),
	}
}

// multicastEntries is multicast objects, since CUDA 12.1.
func (a *api) multicastEntries() []entry {
	return []entry{
		optional(&a.multicastGetGranularity, "cuMulticastGetGranularity"),
		optional(&a.multicastCreate, "cuMulticastCreate"),
		optional(&a.multicastAddDevice, "cuMulticastAddDevice"),
		optional(&a.multicastBindMem, "cuMulticastBindMem"),
		optional(&a.multicastUnbind, "cuMulticastUnbind"),
	}
}

func (a *api) coreEntries() []entry {
	return []entry{
		one(&a.init, "cuInit"),
		one(&a.driverGetVersion, "cuDriverGetVersion"),
		one(&a.getErrorString, "cuGetErrorString"),
		one(&a.deviceGetCount, "cuDeviceGetCount"),
		one(&a.deviceGet, "cuDeviceGet"),
		one(&a.deviceGetAttribute, "cuDeviceGetAttribute"),
		one(&a.deviceGetName, "cuDeviceGetName"),
		one(&a.deviceGetUUID, "cuDeviceGetUuid_v2", "cuDeviceGetUuid"),
		one(&a.deviceTotalMem, "cuDeviceTotalMem_v2"),
		one(&a.deviceCanAccessPeer, "cuDeviceCanAccessPeer"),
		one(&a.deviceGetP2PAttribute, "cuDeviceGetP2PAttribute"),
		one(&a.primaryCtxRetain, "cuDevicePrimaryCtxRetain"),
		one(&a.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"),
		one(&a.ctxSetCurrent, "cuCtxSetCurrent"),
		one(&a.memAlloc, "cuMemAlloc_v2"),
		one(&a.memFree, "cuMemFree_v2"),
		one(&a.memHostAlloc, "cuMemHostAlloc"),
		one(&a.memFreeHost, "cuMemFreeHost"),
		one(&a.memHostPointer, "cuMemHostGetDevicePointer_v2"),
		one(&a.memHostRegister, "cuMemHostRegister_v2"),
		one(&a.memHostUnregister, "cuMemHostUnregister"),
		one(&a.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"),
		one(&a.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"),
		one(&a.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"),
		one(&a.memsetD8, "cuMemsetD8Async"),
		one(&a.ipcGetMemHandle, "cuIpcGetMemHandle"),
		one(&a.ipcOpenMemHandle, "cuIpcOpenMemHandle_v2"),
		one(&a.ipcCloseMemHandle, "cuIpcCloseMemHandle"),
		one(&a.moduleLoadDataEx, "cuModuleLoadDataEx"),
		one(&a.moduleUnload, "cuModuleUnload"),
		one(&a.moduleGetFunction, "cuModuleGetFunction"),
		one(&a.funcGetAttribute, "cuFuncGetAttribute"),
		one(&a.funcSetAttribute, "cuFuncSetAttribute"),
		optional(&a.funcGetParamInfo, "cuFuncGetParamInfo"), // since CUDA 12.4
		one(&a.launchKernel, "cuLaunchKernel"),
		optional(&a.launchKernelEx, "cuLaunchKernelEx"),             // since CUDA 11.8
		optional(&a.tensorMapEncodeTiled, "cuTensorMapEncodeTiled"), // since CUDA 12.0
		one(&a.streamCreate, "cuStreamCreate"),
		one(&a.streamCreateWithPriority, "cuStreamCreateWithPriority"),
		one(&a.streamPriorityRange, "cuCtxGetStreamPriorityRange"),
		one(&a.streamDestroy, "cuStreamDestroy_v2"),
		one(&a.streamQuery, "cuStreamQuery"),
		one(&a.streamSynchronize, "cuStreamSynchronize"),
		one(&a.streamWaitEvent, "cuStreamWaitEvent"),
		optional(&a.streamWriteValue, "cuStreamWriteValue32_v2"), // since CUDA 11.7
		optional(&a.streamWaitValue, "cuStreamWaitValue32_v2"),   // likewise
		one(&a.streamBeginCapture, "cuStreamBeginCapture_v2"),
		one(&a.streamEndCapture, "cuStreamEndCapture"),
		one(&a.eventCreate, "cuEventCreate"),
		one(&a.eventDestroy, "cuEventDestroy_v2"),
		one(&a.eventRecord, "cuEventRecord"),
		one(&a.eventElapsedTime, "cuEventElapsedTime_v2", "cuEventElapsedTime"),
		one(&a.graphInstantiate, "cuGraphInstantiateWithFlags"),
		one(&a.graphDestroy, "cuGraphDestroy"),
		one(&a.graphExecDestroy, "cuGraphExecDestroy"),
		one(&a.graphLaunch, "cuGraphLaunch"),
		one(&a.graphUpload, "cuGraphUpload"),
		one(&a.graphCreate, "cuGraphCreate"),
		one(&a.graphAddKernelNode, "cuGraphAddKernelNode"),
		one(&a.graphExecSetKernelParams, "cuGraphExecKernelNodeSetParams"),
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
	var missing []error
	for _, e := range a.entries() {
		if *e.to, err = lib.Func(e.names...); err != nil && !e.optional {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("opening the CUDA driver: %w", errors.Join(missing...))
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
	var text unsafe.Pointer // into the library's constant data
	a.getErrorString.Call(uintptr(code), uintptr(unsafe.Pointer(&text)))
	if text == nil {
		return ""
	}
	var n int
	for *(*byte)(unsafe.Add(text, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(text), n))
}
