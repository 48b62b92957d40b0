package nvml

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/dl"
	"gpurun/cudart/dl/dltest"
)

// fakeLibrary compiles the stand-in for NVML, with further flags, and returns its
// path.
func fakeLibrary(t *testing.T, flags ...string) string {
	t.Helper()
	return dltest.Build(t, "libnvidia-ml.so.1", "testdata/fakenvml.c", flags...)
}

func TestDevices(t *testing.T) {
	l, err := Open("/nowhere/libnvidia-ml.so.1", fakeLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{
		{
			Index: 0, Name: "NVIDIA Fake", UUID: "GPU-a0010203-0405-0607-0809-0a0b0c0d0e0f",
			PCIBusID: "0000:18:00.0", Major: 9, TotalMemory: 150 << 30,
		},
		{
			Index: 1, Name: "NVIDIA Fake", UUID: "GPU-a1010203-0405-0607-0809-0a0b0c0d0e0f",
			PCIBusID: "0000:19:00.0", Major: 9, TotalMemory: 150 << 30,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	version, err := l.DriverVersion()
	if err != nil || version != "580.95.05" {
		t.Errorf("driver version %q, %v", version, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Devices(); !errors.Is(err, ErrUninitialized) {
		t.Errorf("after Close: %v", err)
	}
}

func TestRefusedInitSaysWhatToDo(t *testing.T) {
	path := fakeLibrary(t)
	for code, want := range map[string]struct {
		code Return
		text string
	}{
		"9":  {ErrDriverNotLoaded, "nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED (9); the NVIDIA kernel driver is not loaded"},
		"18": {ErrLibRMMismatch, "different versions; reboot after a driver update"},
		"77": {77, "nvmlInit_v2: nvmlReturn 77 (77)"},
	} {
		t.Setenv("FAKE_NVML_INIT", code)
		_, err := Open(path)
		if !errors.Is(err, want.code) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("init returns %s: got %v", code, err)
		}
	}
}

func TestMissingLibrary(t *testing.T) {
	_, err := Open("/nowhere/libnvidia-ml.so.1")
	if !errors.Is(err, dl.ErrNotFound) || !strings.Contains(err.Error(), "/nowhere/libnvidia-ml.so.1") {
		t.Errorf("got %v", err)
	}
}

func TestForeignLibraryIsRefused(t *testing.T) {
	_, err := Open("libc.so.6")
	if err == nil || !strings.Contains(err.Error(), "no function nvmlInit_v2") {
		t.Errorf("got %v", err)
	}
}
