package driver

import (
	"errors"
	"os"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

const granule = 2 << 20 // of the stand-in's memory

// TestVMMStructures compares with the sizes of cuda.h's structs. The stand-in
// compares the bytes.
func TestVMMStructures(t *testing.T) {
	got := []uintptr{unsafe.Sizeof(allocationProp{}), unsafe.Sizeof(accessDesc{}), unsafe.Sizeof(multicastProp{})}
	if diff := cmp.Diff([]uintptr{32, 12, 32}, got); diff != "" {
		t.Errorf("CUmemAllocationProp, CUmemAccessDesc, CUmulticastObjectProp: %s", diff)
	}
}

// reimport exports memory and imports it again.
func (d *device) reimport(handle uint64, fabric bool) (uint64, error) {
	if fabric {
		h, err := d.ExportFabric(handle)
		if err != nil {
			return 0, err
		}
		return d.ImportFabric(h)
	}
	file, err := d.ExportFile(handle)
	if err != nil {
		return 0, err
	}
	imported, err := d.ImportFile(file)
	return imported, errors.Join(err, file.Close())
}

func TestMemoryIsWhatIsImported(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	for name, fabric := range map[string]bool{"file": false, "fabric handle": true} {
		own := must[uint64](t)(d.CreateMemory(granule, fabric))
		ptr := must[cudart.DevicePtr](t)(d.MapMemory(own, granule))
		imported := must[uint64](t)(d.reimport(own, fabric))
		peer := must[cudart.DevicePtr](t)(d.MapMemory(imported, granule))
		if err := errors.Join(d.ReleaseMemory(imported), d.ReleaseMemory(own)); err != nil {
			t.Error(err)
		}
		got := make([]byte, 8)
		if err := errors.Join(s.Upload(ptr+granule-8, []byte("the last")), s.Download(got, peer+granule-8)); err != nil {
			t.Error(err)
		}
		if string(got) != "the last" || peer == ptr {
			t.Errorf("%s: the import at %#x holds %q", name, peer, got)
		}
		if err := errors.Join(d.UnmapMemory(ptr), d.UnmapMemory(peer)); err != nil {
			t.Error(err)
		}
		if live := f.live(); live != "contexts=1 stream=1" {
			t.Errorf("%s: left behind: %s", name, live)
		}
	}
}

func TestMemoryIsCalledAsTheDriverWants(t *testing.T) {
	f := newFake(t)
	d := f.open()
	if got := must[int64](t)(d.MemoryGranularity(false)); got != granule {
		t.Errorf("a granularity of %d bytes", got)
	}
	own := must[uint64](t)(d.CreateMemory(2*granule, false))
	ptr := must[cudart.DevicePtr](t)(d.MapMemory(own, 2*granule))
	if err := errors.Join(d.UnmapMemory(ptr), d.ReleaseMemory(own)); err != nil {
		t.Error(err)
	}
	wantCalls(
		t, f, "cuMemGetAllocationGranularity 1", "cuMemCreate 4194304 type 1",
		"cuMemAddressReserve 4194304", "cuMemMap 4194304", "cuMemSetAccess 4194304",
		"cuMemUnmap 4194304", "cuMemAddressFree 4194304", "cuMemRelease",
	)
	wantCode(t, d.UnmapMemory(ptr), cudart.ErrInvalidValue, "no mapped memory")
	wantCode(t, d.ReleaseMemory(own), cudart.ErrInvalidValue, "no live handle")
	_, err := d.CreateMemory(0, false)
	wantCode(t, err, cudart.ErrInvalidValue, "a size of 0 bytes")
}

func TestExportedFileIsClosedOnExec(t *testing.T) {
	f := newFake(t)
	d := f.open()
	file := must[*os.File](t)(d.ExportFile(must[uint64](t)(d.CreateMemory(granule, false))))
	defer file.Close()
	if flags := must[int](t)(unix.FcntlInt(file.Fd(), unix.F_GETFD, 0)); flags&unix.FD_CLOEXEC == 0 {
		t.Error("a child that this process starts would keep the memory alive")
	}
}

func TestImportsOfAnythingElseFail(t *testing.T) {
	f := newFake(t)
	d := f.open()
	null := must[*os.File](t)(os.Open(os.DevNull))
	defer null.Close()
	_, err := d.ImportFile(null)
	wantCode(t, err, cudart.ErrInvalidValue, "importing a handle")
	_, err = d.ImportFabric([64]byte{255, 255, 255, 127})
	wantCode(t, err, cudart.ErrInvalidValue, "importing a handle")
}

// TestFailuresOfMappingLeaveNothing has each part of a mapping fail.
func TestFailuresOfMappingLeaveNothing(t *testing.T) {
	f := newFake(t)
	d := f.open()
	own := must[uint64](t)(d.CreateMemory(granule, false))
	for call, mention := range map[string]string{
		"cuMemAddressReserve": "reserving 2097152 bytes of addresses",
		"cuMemMap":            "mapping 2097152 bytes",
		"cuMemSetAccess":      "giving GPU 1 access",
	} {
		f.failNext(call, cudart.ErrOutOfMemory)
		_, err := d.MapMemory(own, granule)
		wantCode(t, err, cudart.ErrOutOfMemory, mention)
		if live := f.live(); live != "contexts=1 handle=1 physical=1" {
			t.Errorf("%s: left behind: %s", call, live)
		}
	}
}

func TestCanExport(t *testing.T) {
	library := newFake(t)
	for name, test := range map[string]struct {
		fabric bool
		breaks func(*fake)
		want   string // empty is that it can
	}{
		"files": {false, func(*fake) {}, ""},
		"no VMM": {
			false, func(f *fake) { f.attribute(attrVMM, 0) }, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0",
		},
		"no files": {
			false, func(f *fake) { f.attribute(attrFile, 0) }, "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED is 0",
		},
		"no fabric":      {true, func(*fake) {}, "HANDLE_TYPE_FABRIC_SUPPORTED is 0"},
		"fabric":         {true, func(f *fake) { f.attribute(attrFabric, 1) }, ""},
		"no granularity": {false, func(f *fake) { f.failIn(1, 1, cudart.ErrOutOfMemory) }, "granularity"},
		"no memory": {
			false, func(f *fake) { f.failNext("cuMemCreate", cudart.ErrOutOfMemory) }, "allocating 2097152 bytes",
		},
		"accepted, not exported": {
			false, func(f *fake) { f.failNext("cuMemExportToShareableHandle", cudart.ErrNotSupported) },
			"exporting a file descriptor",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{t: t, path: library.path, lib: library.lib}
			f.call("fake_reset")
			d := f.open()
			test.breaks(f)
			switch err := d.CanExport(test.fabric); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "":
				wantMention(t, err, test.want)
			}
			if live := f.live(); live != "contexts=1" {
				t.Errorf("left behind: %s", live)
			}
		})
	}
}

func TestOldDriversHaveNoVMM(t *testing.T) {
	f := newFake(t, "-DWITHOUT_VMM")
	d := f.open()
	wantCode(t, d.CanExport(false), cudart.ErrNotSupported, "came with CUDA 10.2")
	wantCode(t, d.CanMulticast(), cudart.ErrNotSupported, "came with CUDA 12.1")
	_, err := d.CreateMemory(granule, false)
	wantCode(t, err, cudart.ErrNotSupported, "update the NVIDIA driver")
}

// TestCloseReleasesMemory leaves everything that VMM makes to Close.
func TestCloseReleasesMemory(t *testing.T) {
	f := newFake(t)
	f.attribute(attrMulticast, 1)
	d := must[cudart.Device](t)(f.backend().Open(0)).(*device)
	own := must[uint64](t)(d.CreateMemory(granule, false))
	must[cudart.DevicePtr](t)(d.MapMemory(own, granule))
	must[uint64](t)(d.reimport(own, false))
	if err := d.JoinMulticast(must[uint64](t)(d.CreateMulticast(2, 2*granule, false))); err != nil {
		t.Error(err)
	}
	f.calls()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	wantCalls(
		t, f, "cuMemRelease", "cuMemRelease", "cuMemUnmap 2097152", "cuMemAddressFree 2097152", "cuMemRelease",
		"cuCtxSetCurrent none", "cuDevicePrimaryCtxRelease_v2 70",
	)
	if live := f.live(); live != "contexts=0" {
		t.Errorf("left behind: %s", live)
	}
}

func TestStreamHandleIsTheDriversOwn(t *testing.T) {
	f := newFake(t)
	s := f.stream(f.open())
	if err := s.dev.api.call(s.dev.api.streamSynchronize, s.Handle()); err != nil {
		t.Errorf("the handle %#x: %v", s.Handle(), err)
	}
}
