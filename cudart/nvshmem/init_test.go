package nvshmem

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

func TestLayout(t *testing.T) {
	var a initAttr
	at := func(offset uintptr) uintptr { return unsafe.Offsetof(a.args) + offset }
	uid := unsafe.Offsetof(a.args.uid)
	got := map[string]uintptr{
		"attr": unsafe.Sizeof(a), "args": unsafe.Sizeof(a.args), "uid args": unsafe.Sizeof(a.args.uid),
		"mpi_comm": unsafe.Offsetof(a.mpiComm), "args.version": at(0), "args.uid_args": at(uid),
		"id":     at(uid + unsafe.Offsetof(a.args.uid.id)),
		"myrank": at(uid + unsafe.Offsetof(a.args.uid.rank)), "nranks": at(uid + unsafe.Offsetof(a.args.uid.world)),
		"cuda_device_id": at(unsafe.Offsetof(a.args.device)),
	}
	want := map[string]uintptr{
		"attr": 144, "args": 128, "uid args": 24,
		"mpi_comm": 8, "args.version": 16, "args.uid_args": 24,
		"id": 32, "myrank": 40, "nranks": 44, "cuda_device_id": 48,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInitHandsTheDeviceOver(t *testing.T) {
	t.Setenv("FAKE_NVSHMEM_DEVICE", "3")
	l := open(t)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Init(0, 1, id, 2); !errors.Is(err, ErrInvalidValue) {
		t.Errorf("another device: %v", err)
	}
	if err := l.Init(0, 1, id, 3); err != nil {
		t.Error(err)
	}
	if err := l.Init(0, 1, id, 3); err == nil || !strings.Contains(err.Error(), "has done so already") {
		t.Errorf("a second time: %v", err)
	}
	if err := l.Finalize(); err != nil {
		t.Error(err)
	}
	if err := l.Finalize(); err != nil {
		t.Error(err)
	}
}

func TestInitRefusesADamagedID(t *testing.T) {
	l := open(t)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	for i := range id {
		damaged := id
		damaged[i] ^= 1
		if err := l.Init(0, 1, damaged, 0); !errors.Is(err, ErrInvalidValue) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func TestFailedInit(t *testing.T) {
	for name, test := range map[string]struct {
		variable, value string
		code            error
		text            string
	}{
		"refused": {
			"FAKE_NVSHMEM_INIT", "7", ErrInternal,
			"initializing NVSHMEM as rank 0 of 1 on device 0: nvshmemx_hostlib_init_attr: NVSHMEMX_ERROR_INTERNAL (7); " +
				"NVSHMEM_DEBUG=INFO says more",
		},
		"unknown": {"FAKE_NVSHMEM_INIT", "77", Status(77), "NVSHMEM status 77 (77)"},
		// It says success, and the next call would end the process.
		"halfway": {"FAKE_NVSHMEM_STATUS", "1", nil, "the GPU could not be set up (status 1)"},
		"muddled": {"FAKE_NVSHMEM_PE", "5", nil, "the library believes to be PE 5 of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			l := open(t)
			id, err := l.NewUniqueID()
			if err != nil {
				t.Fatal(err)
			}
			err = l.Init(0, 1, id, 0)
			if err == nil || !strings.Contains(err.Error(), test.text) || test.code != nil && !errors.Is(err, test.code) {
				t.Errorf("got %v", err)
			}
			if err := l.Finalize(); err != nil { // does nothing; the library would end the process
				t.Error(err)
			}
		})
	}
}

func TestHeap(t *testing.T) {
	t.Setenv("NVSHMEM_SYMMETRIC_SIZE", "8192")
	t.Setenv("FAKE_NVSHMEM_MC", "1")
	l := alone(t)
	a, err := l.Malloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Malloc(8192); err == nil ||
		!strings.Contains(err.Error(), "no room for 8192 bytes in the symmetric heap; raise NVSHMEM_SYMMETRIC_SIZE") {
		t.Errorf("a full heap: %v", err)
	}
	for _, bytes := range []int64{0, -1} {
		if _, err := l.Malloc(bytes); err == nil {
			t.Errorf("allocated %d bytes", bytes)
		}
	}
	if got := l.Ptr(a+8, 0); got != a+8 {
		t.Errorf("the rank's own memory is at %#x, not %#x", got, a+8)
	}
	if got := l.Ptr(4096, 0); got != 0 {
		t.Errorf("what is not symmetric is at %#x", got)
	}
	if got := l.MulticastPtr(a); got == 0 {
		t.Error("no multicast pointer")
	}
	t.Setenv("NVSHMEM_DISABLE_NVLS", "1")
	if got := l.MulticastPtr(a); got != 0 {
		t.Errorf("a multicast pointer %#x where that is off", got)
	}
	if err := l.Free(a); err != nil {
		t.Error(err)
	}
	if err := l.Free(0); err == nil {
		t.Error("freed the null pointer")
	}
}

func TestEnqueuingAllocatesNothing(t *testing.T) {
	t.Setenv("NVSHMEM_SYMMETRIC_SIZE", "8192")
	l := alone(t)
	p, err := l.Malloc(1024)
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		if failed := enqueueAll(l, p); failed != nil {
			err = failed
		}
	})
	if err != nil || allocs > 0 {
		t.Errorf("%v allocations, %v", allocs, err)
	}
	if err := l.Free(p); err != nil {
		t.Error(err)
	}
}

func enqueueAll(l *Library, p cudart.DevicePtr) error {
	for _, err := range [...]error{
		l.AllReduce(p, p, 1, Int32, Sum, 0),
		l.ReduceScatter(p, p+64, 1, Int32, Sum, 0),
		l.AllGather(p, p+64, 1, Int32, 0),
		l.Broadcast(p, p+64, 1, Int32, 0, 0),
		l.AllToAll(p, p+64, 1, Int32, 0),
		l.BarrierOnStream(0),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}
