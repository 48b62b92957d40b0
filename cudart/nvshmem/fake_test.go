package nvshmem

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"gpurun/cudart"

	"gpurun/cudart/dl/dltest"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(playRole())
	}
	goleak.VerifyTestMain(m)
}

// compile builds the stand-in for NVSHMEM and returns its path. The flags choose
// its version, as in -DVERSION=2,11,0.
func compile(t testing.TB, flags ...string) string {
	t.Helper()
	return dltest.Build(t, "libnvshmem_host.so.3", "testdata/fakenvshmem.c", flags...)
}

func open(t testing.TB, flags ...string) *Library {
	t.Helper()
	// One thread stands for the one that has the context.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	l, err := Open(compile(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// alone initializes a job of one rank and finalizes it when the test ends.
func alone(t testing.TB, flags ...string) *Library {
	t.Helper()
	l := open(t, flags...)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Init(0, 1, id, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Finalize(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// words are the n 32-bit integers at a device address, which the stand-in has
// in host memory.
func words(ptr cudart.DevicePtr, n int) []int32 {
	addr := uintptr(ptr)
	return unsafe.Slice(*(**int32)(unsafe.Pointer(&addr)), n)
}
