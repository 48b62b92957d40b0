package driver

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// hostFileName is how the memory shows up among the mappings of a process.
const hostFileName = "gpurun-host-test"

// newHostFile makes a memfd that can be imported.
func newHostFile(t *testing.T, size int64, seals int) *os.File {
	t.Helper()
	fd := must[int](t)(unix.MemfdCreate(hostFileName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING))
	file := os.NewFile(uintptr(fd), hostFileName)
	t.Cleanup(func() { file.Close() })
	_, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	if err := errors.Join(file.Truncate(size), err); err != nil {
		t.Fatal(err)
	}
	return file
}

// mapped counts the mappings of host files in this process.
func mapped(t *testing.T) int {
	t.Helper()
	return bytes.Count(must[[]byte](t)(os.ReadFile("/proc/self/maps")), []byte("memfd:"+hostFileName))
}

func TestImportHostMapsTheFile(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	const size = 3*4096 + 256
	file := newHostFile(t, size, unix.F_SEAL_SHRINK)
	want := fillBytes(size)
	must[int](t)(file.WriteAt(want, 0))
	ptr := must[cudart.DevicePtr](t)(d.ImportHost(file))
	again := must[cudart.DevicePtr](t)(d.ImportHost(file))
	wantCalls(t, f, "cuMemHostRegister_v2 12544 3", "cuMemHostGetDevicePointer_v2 0", "cuMemHostRegister_v2 12544 3",
		"cuMemHostGetDevicePointer_v2 0")

	got := make([]byte, size)
	if err := errors.Join(s.Fill(ptr+1, '!', 1), s.Download(got, again)); err != nil {
		t.Fatal(err)
	}
	want[1] = '!'
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must[int](t)(file.ReadAt(got, 0))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	f.calls()
	if err := d.CloseHost(ptr); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuMemHostUnregister")
	wantCode(t, d.CloseHost(ptr), cudart.ErrInvalidValue, "no imported host memory")
	if n := mapped(t); n != 1 {
		t.Errorf("%d mappings are left, want the second one only", n)
	}
	if err := d.CloseHost(again); err != nil {
		t.Error(err)
	}
	if n := mapped(t); n != 0 {
		t.Errorf("%d mappings are left", n)
	}
}

func TestImportHostFails(t *testing.T) {
	f := newFake(t)
	d := f.open()
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	good := newHostFile(t, 4096, unix.F_SEAL_SHRINK)
	for _, test := range []struct {
		name string
		file *os.File
		call string
		want string
	}{
		{"pipe", pipe, "", "no memfd"},
		{"shrinkable", newHostFile(t, 4096, 0), "", "sealed against shrinking"},
		{"empty", newHostFile(t, 0, unix.F_SEAL_SHRINK), "", "is empty"},
		{"register", good, "cuMemHostRegister_v2", "registering 4096 bytes of host memory"},
		{"pointer", good, "cuMemHostGetDevicePointer_v2", "mapping host memory"},
	} {
		if test.call != "" {
			f.failNext(test.call, cudart.ErrInvalidValue)
		}
		if ptr, err := d.ImportHost(test.file); !errors.Is(err, cudart.ErrInvalidValue) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %#x and error %v, want %q", test.name, ptr, err, test.want)
		}
		if n := mapped(t); n != 0 || f.live() != "contexts=1" {
			t.Errorf("%s: left %d mappings and %s", test.name, n, f.live())
		}
	}
}
