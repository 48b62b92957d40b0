package driver

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

func withoutVisible(t *testing.T) {
	t.Helper()
	t.Setenv("CUDA_VISIBLE_DEVICES", "") // has the test restore what was set
	if err := os.Unsetenv("CUDA_VISIBLE_DEVICES"); err != nil {
		t.Fatal(err)
	}
}

// TestDevicesAskOneOfTwoSources compares what NVML and CUDA say of the same
// GPUs: they differ only in what NVML cannot know, and in the version.
func TestDevicesAskOneOfTwoSources(t *testing.T) {
	withoutVisible(t)
	cuda := newFake(t)
	want := []cudart.Info{
		{
			Backend: "cuda", Ordinal: 0, Name: "NVIDIA Fake", UUID: "GPU-a0010203-0405-0607-0809-0a0b0c0d0e0f",
			PCIBusID: "0000:18:00.0", Major: 9, TotalMemory: 150 << 30,
		},
		{
			Backend: "cuda", Ordinal: 1, Name: "NVIDIA Fake", UUID: "GPU-a1010203-0405-0607-0809-0a0b0c0d0e0f",
			PCIBusID: "0000:19:00.0", Major: 9, TotalMemory: 150 << 30,
		},
	}
	for name, test := range map[string]struct {
		nvml string
		sms  int
	}{
		"nvml": {compile(t, "../nvml/testdata/fakenvml.c", "libnvidia-ml.so.1"), 0},
		"cuda": {"/nowhere/libnvidia-ml.so.1", 132},
	} {
		t.Run(name, func(t *testing.T) {
			cuda.call("fake_reset")
			b := cuda.backend()
			b.nvmlPaths = []string{test.nvml}
			got, err := b.Devices()
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if got[i].SMs != test.sms || got[i].Driver == "" {
					t.Errorf("GPU %d has %d SMs and driver %q", i, got[i].SMs, got[i].Driver)
				}
				got[i].SMs, got[i].Driver = 0, ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if live := cuda.live(); live != "contexts=0" {
				t.Errorf("listing left %s", live)
			}
			if calls := cuda.calls(); name == "nvml" && calls != nil {
				t.Errorf("listing by NVML called CUDA: %q", calls)
			}
		})
	}
}

func TestDevicesFollowVisibleDevices(t *testing.T) {
	path := compile(t, "../nvml/testdata/fakenvml.c", "libnvidia-ml.so.1")
	t.Setenv("FAKE_GPUS", "4")
	t.Setenv("CUDA_VISIBLE_DEVICES", "3,1")
	b := &Backend{nvmlPaths: []string{path}}
	got, err := b.Devices()
	if err != nil {
		t.Fatal(err)
	}
	var buses []string
	for i, info := range got {
		buses = append(buses, info.PCIBusID)
		if info.Ordinal != i {
			t.Errorf("device %d has ordinal %d", i, info.Ordinal)
		}
	}
	if diff := cmp.Diff([]string{"0000:1b:00.0", "0000:19:00.0"}, buses); diff != "" {
		t.Error(diff)
	}
}

func TestNoDevice(t *testing.T) {
	path := compile(t, "../nvml/testdata/fakenvml.c", "libnvidia-ml.so.1")
	nowhere := []string{"/nowhere/libcuda.so.1", "/nowhere/libnvidia-ml.so.1"}
	for name, test := range map[string]struct {
		nvml    string
		env     map[string]string
		code    cudart.Result
		mention string
	}{
		"no driver":  {nowhere[1], nil, cudart.ErrNoDevice, "/nowhere/libcuda.so.1"},
		"not loaded": {path, map[string]string{"FAKE_NVML_INIT": "9"}, cudart.ErrNoDevice, "driver is not loaded"},
		"no GPU":     {path, map[string]string{"FAKE_GPUS": "0"}, cudart.ErrNoDevice, "sees no GPU"},
		"all hidden": {
			path, map[string]string{"CUDA_VISIBLE_DEVICES": "7"}, cudart.ErrNoDevice, `"7" leaves none of the 2 GPUs`,
		},
		"empty list":    {path, map[string]string{"CUDA_VISIBLE_DEVICES": ""}, cudart.ErrNoDevice, `"" leaves none`},
		"broken driver": {path, map[string]string{"FAKE_NVML_INIT": "18"}, cudart.ErrSystemMismatch, "different versions"},
	} {
		t.Run(name, func(t *testing.T) {
			withoutVisible(t)
			for k, v := range test.env {
				t.Setenv(k, v)
			}
			b := &Backend{cudaPaths: nowhere[:1], nvmlPaths: []string{test.nvml}}
			_, err := b.Devices()
			if !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.mention) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMIGInstancesAreListedByCUDA sees the listing go past NVML.
func TestMIGInstancesAreListedByCUDA(t *testing.T) {
	f := newFake(t)
	t.Setenv("CUDA_VISIBLE_DEVICES", "MIG-3f1b")
	if _, err := f.backend().Devices(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cuInit 0"}, f.calls()); diff != "" {
		t.Error(diff)
	}
}

func TestOpen(t *testing.T) {
	f := newFake(t)
	d, err := f.backend().Open(1)
	if err != nil {
		t.Fatal(err)
	}
	info := d.Info()
	if info.Ordinal != 1 || info.SMs != 132 || info.PCIBusID != "0000:19:00.0" {
		t.Errorf("opened %+v", info)
	}
	for range 2 { // a second Close does nothing
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"cuInit 0", "cuDevicePrimaryCtxRetain 71", "cuCtxSetCurrent primary",
		"cuCtxSetCurrent none", "cuDevicePrimaryCtxRelease_v2 71",
	}
	if diff := cmp.Diff(want, f.calls()); diff != "" {
		t.Error(diff)
	}
}

func TestOpenFails(t *testing.T) {
	f := newFake(t)
	for name, test := range map[string]struct {
		ordinal int
		call    string
		code    cudart.Result
		mention string
	}{
		"no such GPU": {
			2, "", cudart.ErrInvalidDevice, "opening GPU 2: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101): there are 2",
		},
		"stub":         {0, "cuInit", cudart.ErrStubLibrary, "LD_LIBRARY_PATH"},
		"no fabric":    {0, "cuInit", cudart.ErrSystemNotReady, "nvidia-fabricmanager"},
		"mismatch":     {0, "cuInit", cudart.ErrSystemMismatch, "different versions"},
		"no device":    {0, "cuInit", cudart.ErrNoDevice, "CUDA_VISIBLE_DEVICES"},
		"exclusive":    {0, "cuDevicePrimaryCtxRetain", errDeviceUnavailable, "exclusive mode"},
		"driver words": {0, "cuCtxSetCurrent", 205, "CUresult 205 (205): mapping of buffer object failed"},
	} {
		t.Run(name, func(t *testing.T) {
			f.call("fake_reset")
			if test.call != "" {
				f.failNext(test.call, test.code)
			}
			_, err := f.backend().Open(test.ordinal)
			if !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.mention) {
				t.Errorf("got %v", err)
			}
			if live := f.live(); live != "contexts=0" {
				t.Errorf("left behind: %s", live)
			}
		})
	}
}

func TestLibraryIsMissingOrForeign(t *testing.T) {
	b := &Backend{cudaPaths: []string{"/nowhere/libcuda.so.1"}}
	_, err := b.Open(0)
	if !errors.Is(err, dl.ErrNotFound) || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1") ||
		!strings.Contains(err.Error(), "NVIDIA_DRIVER_CAPABILITIES") {
		t.Errorf("missing: %v", err)
	}
	b = &Backend{cudaPaths: []string{"libc.so.6"}}
	_, err = b.Open(0)
	if err == nil || !strings.Contains(err.Error(), "libc.so.6 has no function cuInit") {
		t.Errorf("foreign: %v", err)
	}
}

// The version of the library is known without CUDA being initialized.
func TestLibraryVersion(t *testing.T) {
	cuda := newFake(t)
	version, err := cuda.backend().LibraryVersion()
	if err != nil || version != 13010 {
		t.Errorf("got %d, %v", version, err)
	}
	b := cuda.backend()
	b.cudaPaths = []string{"/nowhere/libcuda.so.1"}
	if _, err := b.LibraryVersion(); !errors.Is(err, dl.ErrNotFound) {
		t.Errorf("without a library: %v", err)
	}
}

func TestInitHoldsNoDevice(t *testing.T) {
	f := newFake(t)
	b := f.backend()
	if err := b.Init(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cuInit 0"}, f.calls()); diff != "" {
		t.Error(diff)
	}
	if live := f.live(); live != "contexts=0" {
		t.Errorf("left %s", live)
	}
	f.failNext("cuInit", cudart.ErrSystemMismatch)
	if err := b.Init(); !errors.Is(err, cudart.ErrSystemMismatch) {
		t.Errorf("got %v", err)
	}
	missing := &Backend{cudaPaths: []string{"/nowhere/libcuda.so.1"}}
	if err := missing.Init(); !errors.Is(err, dl.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
