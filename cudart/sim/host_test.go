package sim

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

func hostFile(t *testing.T, size int64, seals int) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("host memory", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "host memory")
	t.Cleanup(func() { f.Close() })
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	if err := errors.Join(f.Truncate(size), err); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestImportHost(t *testing.T) {
	d := openDevice(t)
	s := mustStream(t, d)
	f := hostFile(t, 4096, unix.F_SEAL_SHRINK)
	ptr, err := d.ImportHost(f)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("host"), 1024)
	if err := s.Upload(ptr, want); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4096)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file holds %q..., %v", got[:8], err)
	}
	if err := d.CloseHost(ptr); err != nil {
		t.Error(err)
	}
	if err := s.Download(got, ptr); !isResult(err, cudart.ErrInvalidValue) && !isResult(err, cudart.ErrIllegalAddress) {
		t.Errorf("reading after CloseHost: %v", err)
	}
	if err := d.CloseHost(ptr); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("second CloseHost: %v", err)
	}
}

func TestImportHostRefuses(t *testing.T) {
	d := openDevice(t)
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	for name, f := range map[string]*os.File{
		"pipe": pipe, "shrinkable": hostFile(t, 4096, 0), "empty": hostFile(t, 0, unix.F_SEAL_SHRINK),
		"too large": hostFile(t, 1<<40, unix.F_SEAL_SHRINK),
	} {
		if _, err := d.ImportHost(f); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: got %v, want CUDA_ERROR_INVALID_VALUE", name, err)
		}
	}
}
