package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"gpurun/cudart"
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
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("GPURUN_REQUIRE_CC") == "1" {
			t.Fatalf("GPURUN_REQUIRE_CC=1, but: %v", err)
		}
		t.Skip("no C compiler to build the stand-in library with")
	}
	path := filepath.Join(t.TempDir(), "libnvshmem_host.so.3")
	args := append([]string{"-shared", "-fPIC", "-Wall", "-Werror", "-o", path, "testdata/fakenvshmem.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling the stand-in: %v\n%s", err, out)
	}
	return path
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
