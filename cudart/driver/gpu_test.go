package driver

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// The kernels travel inside of the test binary, so that it can run alone on a
// machine with a GPU.
//
//go:embed testdata/add.ptx
var addPTX []byte

// gpu is one open GPU with the test kernels.
type gpu struct {
	t      *testing.T
	dev    *device
	stream cudart.Stream
	add    cudart.Kernel
}

// openGPU opens a real GPU, or skips the test where there is none.
func openGPU(t *testing.T) *gpu {
	t.Helper()
	_, err := New().Devices()
	if errors.Is(err, cudart.ErrNoDevice) && os.Getenv("GPURUN_REQUIRE_GPU") != "1" {
		t.Skip("no device")
	}
	if err != nil {
		t.Fatal(err)
	}
	dev := must[cudart.Device](t)(New().Open(0))
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	g := must[*gpu](t)(withAdd(dev))
	g.t = t
	return g
}

// withAdd loads the test kernels.
func withAdd(dev cudart.Device) (*gpu, error) {
	m, err := dev.LoadModule("add", addPTX)
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel("add")
	if err != nil {
		return nil, err
	}
	s, err := dev.NewStream()
	return &gpu{dev: dev.(*device), stream: s, add: k}, err
}

func (g *gpu) malloc(words int) cudart.DevicePtr {
	g.t.Helper()
	return must[cudart.DevicePtr](g.t)(g.dev.Malloc(int64(words) * 4))
}

func (g *gpu) launchAdd(dst, src cudart.DevicePtr, count, addend int) error {
	return g.stream.Launch(g.add, cudart.Launch{Blocks: (count + 255) / 256, Threads: 256},
		addParams(dst, src, count, addend))
}

func addParams(dst, src cudart.DevicePtr, count, addend int) []byte {
	var params []byte
	params = binary.LittleEndian.AppendUint64(params, uint64(dst))
	params = binary.LittleEndian.AppendUint64(params, uint64(src))
	params = binary.LittleEndian.AppendUint32(params, uint32(count))
	return binary.LittleEndian.AppendUint32(params, uint32(addend))
}

func (g *gpu) synchronize() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
	defer cancel()
	if err := g.stream.Synchronize(ctx); err != nil {
		g.t.Fatal(err)
	}
}

func words(count, first, step int) []byte {
	var b []byte
	for i := range count {
		b = binary.LittleEndian.AppendUint32(b, uint32(first+i*step))
	}
	return b
}

func (g *gpu) wantWords(ptr cudart.DevicePtr, want []byte) {
	g.t.Helper()
	got := make([]byte, len(want))
	if err := g.stream.Download(got, ptr); err != nil {
		g.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Error(diff)
	}
}

func TestGPUDevices(t *testing.T) {
	g := openGPU(t)
	listed := must[[]cudart.Info](t)(New().Devices())
	opened := g.dev.Info()
	if opened.SMs == 0 || opened.TotalMemory == 0 || opened.Driver == "" {
		t.Errorf("opened %+v", opened)
	}
	// The libraries count memory differently, only CUDA counts SMs, and in some
	// containers only NVML sees the driver's version.
	want := opened
	want.SMs, want.TotalMemory, want.Driver = listed[0].SMs, listed[0].TotalMemory, listed[0].Driver
	if diff := cmp.Diff(want, listed[0]); diff != "" {
		t.Errorf("NVML and CUDA differ: %s", diff)
	}
	t.Logf("%+v", opened)
}

func TestGPUCopyLaunchAndHostBuffer(t *testing.T) {
	g := openGPU(t)
	const count = 1000
	src, dst := g.malloc(count), g.malloc(count)
	host := must[cudart.HostBuffer](t)(g.dev.MallocHost(count * 4))
	for _, err := range []error{
		g.stream.Upload(src, words(count, 7, 3)),
		g.stream.Fill(dst, 0xff, count*4),
		g.launchAdd(dst, src, count-1, 5),             // leaves the last word as filled
		g.launchAdd(host.DevicePtr(), dst, count, 10), // writes host memory
		g.stream.Copy(src, dst, count*4),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	g.synchronize()
	want := append(words(count-1, 7+5, 3), 0xff, 0xff, 0xff, 0xff)
	g.wantWords(src, want)
	if diff := cmp.Diff(append(words(count-1, 7+15, 3), words(1, 9, 0)...), host.Bytes()); diff != "" {
		t.Error(diff)
	}
}

func TestGPUGraphReplayAndEvents(t *testing.T) {
	g := openGPU(t)
	const count, replays = 4096, 50
	buffer := g.malloc(count)
	start, end := must[cudart.Event](t)(g.dev.NewEvent()), must[cudart.Event](t)(g.dev.NewEvent())
	if err := g.stream.Upload(buffer, words(count, 1, 1)); err != nil {
		t.Fatal(err)
	}
	graph := must[cudart.Graph](t)(g.stream.Capture(func() error {
		return errors.Join(g.launchAdd(buffer, buffer, count, 2), g.launchAdd(buffer, buffer, count, 1))
	}))
	failures := []error{g.stream.Record(start)}
	for range replays {
		failures = append(failures, graph.Launch(g.stream))
	}
	failures = append(failures, g.stream.Record(end))
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	g.synchronize()
	g.wantWords(buffer, words(count, 1+3*replays, 1))
	took := must[time.Duration](t)(end.Since(start))
	if took <= 0 || took > 10*time.Second {
		t.Errorf("%d replays took %v", replays, took)
	}
	t.Logf("%v per replay of two kernels", took/replays)
}

func TestGPULaunchChecksParameters(t *testing.T) {
	g := openGPU(t)
	if !g.dev.api.funcGetParamInfo.Found() {
		t.Log("this driver does not tell the size of parameters")
		return
	}
	err := g.stream.Launch(g.add, cudart.Launch{Blocks: 1, Threads: 1}, make([]byte, 8))
	wantCode(t, err, cudart.ErrInvalidValue, "8 bytes of parameters where the kernel takes 24")
}

func TestGPULargeSharedMemory(t *testing.T) {
	g := openGPU(t)
	shape := cudart.Launch{Blocks: 1, Threads: 32, SharedBytes: 64 << 10}
	if err := g.stream.Launch(g.add, shape, make([]byte, 24)); err != nil { // count 0: nothing is touched
		t.Error(err)
	}
	shape.SharedBytes = 1 << 20
	wantCode(t, g.stream.Launch(g.add, shape, make([]byte, 24)), cudart.ErrInvalidValue,
		"1048576 bytes of dynamic shared memory per block, of which")
	g.synchronize()
}

func TestGPUBadPTXHasALog(t *testing.T) {
	g := openGPU(t)
	_, err := g.dev.LoadModule("bad",
		[]byte(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { nonsense; ret; }\n"))
	wantCode(t, err, cudart.ErrInvalidPTX, "line 4")
	_, err = g.dev.LoadModule("new", []byte(".version 99.0\n.target sm_70\n.address_size 64\n"))
	wantCode(t, err, cudart.ErrUnsupportedPTX, "update the NVIDIA driver")
}

func TestGPUOutOfMemory(t *testing.T) {
	g := openGPU(t)
	_, err := g.dev.Malloc(1 << 50)
	wantCode(t, err, cudart.ErrOutOfMemory, "too little free memory")
}

func BenchmarkGPULaunch(b *testing.B) {
	if _, err := New().Devices(); errors.Is(err, cudart.ErrNoDevice) {
		b.Skip("no device")
	}
	dev, err := New().Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	g, err := withAdd(dev)
	if err != nil {
		b.Fatal(err)
	}
	params := make([]byte, 24)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.stream.Launch(g.add, cudart.Launch{Blocks: 1, Threads: 32}, params); err != nil {
			b.Fatal(err)
		}
	}
	if err := g.stream.Synchronize(b.Context()); err != nil {
		b.Fatal(err)
	}
}
