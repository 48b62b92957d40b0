package driver

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

func wantCode(t *testing.T, err error, code cudart.Result, mention string) {
	t.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), mention) {
		t.Errorf("got error %v, want %v and %q", err, code, mention)
	}
}

func wantMention(t *testing.T, err error, mention string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), mention) {
		t.Errorf("got error %v, want %q", err, mention)
	}
}

func wantCalls(t *testing.T, f *fake, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.calls()); diff != "" {
		t.Error(diff)
	}
}

func TestMemory(t *testing.T) {
	f := newFake(t)
	d := f.open()
	ptr := must[cudart.DevicePtr](t)(d.Malloc(4096))
	if err := d.Free(ptr); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuMemAlloc_v2 4096", "cuMemFree_v2")
	wantCode(t, d.Free(ptr), cudart.ErrInvalidValue, "no live allocation")
	_, err := d.Malloc(-1)
	wantCode(t, err, cudart.ErrInvalidValue, "a size of -1 bytes")
	wantCalls(t, f)

	f.failNext("cuMemAlloc_v2", cudart.ErrOutOfMemory)
	_, err = d.Malloc(1 << 40)
	wantCode(t, err, cudart.ErrOutOfMemory, "allocating 1099511627776 bytes")
}

func TestHostMemoryIsZeroedAndMapped(t *testing.T) {
	f := newFake(t)
	d := f.open()
	b := must[cudart.HostBuffer](t)(d.MallocHost(512))
	if !bytes.Equal(b.Bytes(), make([]byte, 512)) || b.DevicePtr() == 0 {
		t.Errorf("buffer at %#x: % x", b.DevicePtr(), b.Bytes())
	}
	for range 2 {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	wantCalls(t, f, "cuMemHostAlloc 512 3", "cuMemHostGetDevicePointer_v2 0", "cuMemFreeHost")

	f.failNext("cuMemHostGetDevicePointer_v2", cudart.ErrNotSupported)
	_, err := d.MallocHost(512)
	wantCode(t, err, cudart.ErrNotSupported, "mapping host memory")
	if live := f.live(); live != "contexts=1" {
		t.Errorf("left behind: %s", live)
	}
}

func TestOtherThreadsHaveNoContext(t *testing.T) {
	f := newFake(t)
	d := f.open()
	failed := make(chan error)
	go func() {
		_, err := d.Malloc(64)
		failed <- err
	}()
	wantCode(t, <-failed, cudart.ErrInvalidContext, "cuMemAlloc_v2")
}

func TestIPC(t *testing.T) {
	f := newFake(t)
	d := f.open()
	ptr := must[cudart.DevicePtr](t)(d.Malloc(4096))
	f.calls()
	handle := must[[64]byte](t)(d.ExportIPC(ptr))
	mapped := must[cudart.DevicePtr](t)(d.ImportIPC(handle))
	if mapped != ptr {
		t.Errorf("mapped %#x instead of %#x", mapped, ptr)
	}
	if err := d.CloseIPC(mapped); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2 1", "cuIpcCloseMemHandle")

	_, err := d.ExportIPC(ptr + 256)
	wantCode(t, err, cudart.ErrInvalidValue, "not the start of an allocation")
	wantCode(t, d.CloseIPC(mapped), cudart.ErrInvalidValue, "no live mapping")
	handle[63]++
	_, err = d.ImportIPC(handle)
	wantCode(t, err, cudart.ErrInvalidHandle, "cuIpcOpenMemHandle_v2")
}

func TestCloseReleasesEverything(t *testing.T) {
	f := newFake(t)
	opened := must[cudart.Device](t)(f.backend().Open(0))
	d := opened.(*device)
	ptr := must[cudart.DevicePtr](t)(d.Malloc(64))
	must[cudart.DevicePtr](t)(d.ImportIPC(must[[64]byte](t)(d.ExportIPC(ptr))))
	must[cudart.HostBuffer](t)(d.MallocHost(64))
	must[cudart.DevicePtr](t)(d.ImportHost(newHostFile(t, 4096, unix.F_SEAL_SHRINK)))
	must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	must[cudart.Event](t)(d.NewEvent())
	s := f.stream(d)
	must[cudart.Graph](t)(s.Capture(func() error { return nil }))
	f.calls()
	f.failNext("cuEventDestroy_v2", cudart.ErrIllegalAddress)
	wantCode(t, d.Close(), cudart.ErrIllegalAddress, "closing GPU 0: cuEventDestroy_v2")
	wantCalls(
		t, f, "cuGraphExecDestroy", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", "cuMemHostUnregister",
		"cuMemFreeHost",
		"cuIpcCloseMemHandle", "cuMemFree_v2", "cuCtxSetCurrent none", "cuDevicePrimaryCtxRelease_v2 70",
	)
	if live := f.live(); live != "contexts=0 event=1" || mapped(t) != 0 {
		t.Errorf("left behind: %s and %d mappings", live, mapped(t))
	}
}

func TestInfoSaysWhetherLaunchesBlock(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true, "no": false} {
		t.Setenv("CUDA_LAUNCH_BLOCKING", value)
		if got := newFake(t).open().Info().LaunchesBlock; got != want {
			t.Errorf("CUDA_LAUNCH_BLOCKING=%q: launches block: %t, want %t", value, got, want)
		}
	}
}
