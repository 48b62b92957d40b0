package driver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// Some tests need a second process. It is this test binary again, told by the
// environment what to do instead of running tests.
const (
	roleVariable   = "GPURUN_TEST_ROLE"
	handleVariable = "GPURUN_TEST_HANDLE"
	gpuVariable    = "GPURUN_TEST_ORDINAL"
)

func playRole(role string) int {
	var err error
	switch role {
	case "fill":
		err = fillPeer()
	case "fill-host":
		err = fillHost()
	case "fill-vmm":
		err = fillVMM()
	case "crash":
		err = crash()
	default:
		err = fmt.Errorf("unknown role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runRole plays a role in another process, which gets files as descriptors 3
// and on.
func runRole(t *testing.T, role string, files []*os.File, env ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self := must[string](t)(os.Executable())
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.ExtraFiles = files
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fillPeer maps the memory behind a handle and has a kernel add to it.
func fillPeer() error {
	handle, err := hex.DecodeString(os.Getenv(handleVariable))
	if err != nil {
		return err
	}
	return addTo(func(d *device) (cudart.DevicePtr, error) { return d.ImportIPC([64]byte(handle)) })
}

// fillHost maps the memfd that is descriptor 3 and has a kernel add to it.
func fillHost() error {
	return addTo(func(d *device) (cudart.DevicePtr, error) { return d.ImportHost(os.NewFile(3, "host memory")) })
}

// fillVMM maps the memory that is descriptor 3 and has a kernel add to it.
func fillVMM() error {
	return addTo(func(d *device) (cudart.DevicePtr, error) {
		bytes, err := d.MemoryGranularity(false)
		if err != nil {
			return 0, err
		}
		memory, err := d.ImportFile(os.NewFile(3, "device memory"))
		if err != nil {
			return 0, err
		}
		ptr, err := d.MapMemory(memory, bytes)
		return ptr, errors.Join(err, d.ReleaseMemory(memory))
	})
}

// addTo adds 500 to 1000 words of memory that came from another process, and then writes
// the word behind them.
func addTo(memory func(*device) (cudart.DevicePtr, error)) (err error) {
	ordinal, err := strconv.Atoi(os.Getenv(gpuVariable))
	if err != nil {
		return err
	}
	dev, err := New().Open(ordinal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	ptr, err := memory(dev.(*device))
	if err != nil {
		return err
	}
	g, err := withAdd(dev)
	if err != nil {
		return err
	}
	if err := errors.Join(g.launchAdd(ptr, ptr, 1000, 500), g.stream.WriteValue(ptr+toldAt, 1)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return g.stream.Synchronize(ctx)
}

// crash runs a kernel that stores to the null pointer and wants to be told.
func crash() error {
	dev, err := New().Open(0)
	if err != nil {
		return err
	}
	m, err := dev.LoadModule("add", addPTX)
	if err != nil {
		return err
	}
	k, err := m.Kernel("crash")
	if err != nil {
		return err
	}
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, nil); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); !errors.Is(err, cudart.ErrIllegalAddress) {
		return fmt.Errorf("Synchronize after a crash: %w", err)
	}
	if err := dev.Close(); err != nil && !errors.Is(err, cudart.ErrIllegalAddress) {
		return fmt.Errorf("Close after a crash: %w", err)
	}
	return nil
}

// toldAt is where the word lies that says that the 1000 words before it were added to.
const toldAt = 4 * 1000

// copyWhenTold has a stream of its own copy 1000 words when another process, which play
// runs, has written the word behind them. It returns the copy.
func (g *gpu) copyWhenTold(ptr cudart.DevicePtr, play func() (output string, err error)) cudart.DevicePtr {
	g.t.Helper()
	s, to := must[cudart.Stream](g.t)(g.dev.NewStream()), g.malloc(1000)
	if err := g.stream.WriteValue(ptr+toldAt, 0); err != nil {
		g.t.Fatal(err)
	}
	g.synchronize()
	if err := errors.Join(s.WaitValue(ptr+toldAt, 1), s.Copy(to, ptr, toldAt)); err != nil {
		g.t.Fatal(err)
	}
	output, err := play()
	if err == nil {
		ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
		defer cancel()
		err = s.Synchronize(ctx)
	}
	if err != nil {
		err = errors.Join(err, g.stream.WriteValue(ptr+toldAt, 1)) // the device could not be closed while a stream waits
		g.t.Fatalf("%v: %s", err, output)
	}
	return to
}

// TestGPUMemoryOfAnotherProcess shares an allocation with a process on the
// same GPU, and with one on the next GPU where there is one.
func TestGPUMemoryOfAnotherProcess(t *testing.T) {
	g := openGPU(t)
	buffer := g.malloc(1001)
	handle := must[[64]byte](t)(g.dev.ExportIPC(buffer))
	for ordinal := range min(2, len(must[[]cudart.Info](t)(New().Devices()))) {
		if err := g.stream.Upload(buffer, words(1000, 0, 7)); err != nil {
			t.Fatal(err)
		}
		copied := g.copyWhenTold(buffer, func() (string, error) {
			return runRole(t, "fill", nil, handleVariable+"="+hex.EncodeToString(handle[:]),
				gpuVariable+"="+strconv.Itoa(ordinal))
		})
		g.wantWords(buffer, words(1000, 500, 7))
		g.wantWords(copied, words(1000, 500, 7))
	}
}

// TestGPUVirtualMemoryOfAnotherProcess shares memory by a file descriptor with a
// process on the same GPU, and with one on the next GPU where there is one.
func TestGPUVirtualMemoryOfAnotherProcess(t *testing.T) {
	g := openGPU(t)
	if err := g.dev.CanExport(false); err != nil {
		t.Skipf("no file descriptors of this GPU's memory: %v", err)
	}
	bytes := must[int64](t)(g.dev.MemoryGranularity(false))
	memory := must[uint64](t)(g.dev.CreateMemory(bytes, false))
	ptr := must[cudart.DevicePtr](t)(g.dev.MapMemory(memory, bytes))
	file := must[*os.File](t)(g.dev.ExportFile(memory))
	defer file.Close()
	for ordinal := range min(2, len(must[[]cudart.Info](t)(New().Devices()))) {
		if err := g.stream.Upload(ptr, words(1000, 0, 7)); err != nil {
			t.Fatal(err)
		}
		copied := g.copyWhenTold(ptr, func() (string, error) {
			return runRole(t, "fill-vmm", []*os.File{file}, gpuVariable+"="+strconv.Itoa(ordinal))
		})
		g.wantWords(ptr, words(1000, 500, 7))
		g.wantWords(copied, words(1000, 500, 7))
	}
	if err := errors.Join(g.dev.UnmapMemory(ptr), g.dev.ReleaseMemory(memory)); err != nil {
		t.Error(err)
	}
}

// TestGPUHostMemoryOfTwoProcesses has a kernel here and one in another process,
// on the same GPU and on the next one, add to the same host memory.
func TestGPUHostMemoryOfTwoProcesses(t *testing.T) {
	g := openGPU(t)
	file := newHostFile(t, 4096, unix.F_SEAL_SHRINK)
	ptr := must[cudart.DevicePtr](t)(g.dev.ImportHost(file))
	for ordinal := range min(2, len(must[[]cudart.Info](t)(New().Devices()))) {
		must[int](t)(file.WriteAt(words(1000, 0, 7), 0))
		if err := g.launchAdd(ptr, ptr, 1000, 3); err != nil {
			t.Fatal(err)
		}
		g.synchronize()
		output, err := runRole(t, "fill-host", []*os.File{file}, gpuVariable+"="+strconv.Itoa(ordinal))
		if err != nil {
			t.Fatalf("from GPU %d: %v: %s", ordinal, err, output)
		}
		g.wantWords(ptr, words(1000, 503, 7))
		got := make([]byte, 4000)
		must[int](t)(file.ReadAt(got, 0))
		if diff := cmp.Diff(words(1000, 503, 7), got); diff != "" {
			t.Errorf("the host sees: %s", diff)
		}
	}
	if err := g.dev.CloseHost(ptr); err != nil {
		t.Error(err)
	}
	if n := mapped(t); n != 0 {
		t.Errorf("%d mappings are left", n)
	}
}

func TestGPUGarbageHandleIsAnError(t *testing.T) {
	g := openGPU(t)
	if ptr, err := g.dev.ImportIPC([64]byte{1, 2, 3}); err == nil {
		t.Errorf("mapped garbage at %#x", ptr)
	} else if !strings.Contains(err.Error(), "cuIpcOpenMemHandle_v2") {
		t.Errorf("got %v", err)
	}
}

func TestGPUCrashIsReported(t *testing.T) {
	openGPU(t) // or skip
	if output, err := runRole(t, "crash", nil); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
