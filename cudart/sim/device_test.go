package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

func TestMain(m *testing.M) {
	if os.Getenv(peerVariable) != "" {
		os.Exit(runPeer())
	}
	goleak.VerifyTestMain(m)
}

func openDevice(t testing.TB) *Device {
	t.Helper()
	return openWith(t, Options{})
}

func openWith(t testing.TB, o Options) *Device {
	t.Helper()
	d, err := New(1, o).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d.(*Device)
}

func mustKernel(t testing.TB, d cudart.Device, entry string) cudart.Kernel {
	t.Helper()
	text, err := os.ReadFile("exec/testdata/kernels.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.LoadModule("kernels.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustStream(t testing.TB, d cudart.Device) cudart.Stream {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustMalloc(t testing.TB, d cudart.Device, bytes int64) cudart.DevicePtr {
	t.Helper()
	p, err := d.Malloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func synchronize(t testing.TB, s cudart.Stream) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return s.Synchronize(ctx)
}

// params lays out a parameter block of 8-byte words.
func params(words ...uint64) []byte {
	var out []byte
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func floats(n int, f func(i int) float32) []byte {
	var out []byte
	for i := range n {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f(i)))
	}
	return out
}

func TestVectorAdd(t *testing.T) {
	d := openDevice(t)
	k, s := mustKernel(t, d, "vector_add"), mustStream(t, d)
	const n = 10007
	a, b, out := mustMalloc(t, d, 4*n), mustMalloc(t, d, 4*n), mustMalloc(t, d, 4*n)
	if err := s.Upload(a, floats(n, func(i int) float32 { return float32(i) })); err != nil {
		t.Fatal(err)
	}
	if err := s.Upload(b, floats(n, func(i int) float32 { return 0.25 })); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(k, cudart.Launch{Blocks: 3, Threads: 100},
		params(uint64(a), uint64(b), uint64(out), n)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4*n)
	if err := s.Download(got, out); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if g := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); g != float32(i)+0.25 {
			t.Fatalf("element %d is %v, want %v", i, g, float32(i)+0.25)
		}
	}
}

func isResult(err error, code cudart.Result) bool { return errors.Is(err, code) }

// unsealed is a memfd that its owner could still shrink.
func unsealed(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "unsealed")
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDeviceInfo(t *testing.T) {
	b := New(3, Options{})
	infos, err := b.Devices()
	if err != nil || len(infos) != 3 {
		t.Fatalf("%d devices, error %v; want 3", len(infos), err)
	}
	if i := infos[2]; i.Backend != "sim" || i.Ordinal != 2 || i.Major != 10 || i.SMs < 1 || i.TotalMemory == 0 {
		t.Errorf("device 2 is %+v", i)
	}
	if _, err := b.Open(3); !isResult(err, cudart.ErrInvalidDevice) {
		t.Errorf("opening device 3 of 3: %v", err)
	}
}

// A device gets its share of the machine's memory, and no more even in parts.
func TestDevicesShareTheMemory(t *testing.T) {
	info, err := machineMemory()
	if err != nil {
		t.Fatal(err)
	}
	const devices = 1000
	opened, err := New(devices, Options{}).Open(devices - 1)
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*Device)
	defer d.Close()
	most := info.available / devices * 3 / 4 // other processes may take some meanwhile
	first := mustMalloc(t, d, most)
	if _, err := d.Malloc(most); !isResult(err, cudart.ErrOutOfMemory) {
		t.Errorf("twice three quarters of the share: %v", err)
	}
	if err := d.Free(first); err != nil {
		t.Fatal(err)
	}
	mustMalloc(t, d, most)
}

func TestMemoryMisuse(t *testing.T) {
	d := openDevice(t)
	if _, err := d.Malloc(0); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := d.Malloc(1 << 39); !isResult(err, cudart.ErrOutOfMemory) {
		t.Errorf("more than the machine has: %v", err)
	}
	ptr := mustMalloc(t, d, 100)
	if ptr%256 != 0 {
		t.Errorf("%#x is not aligned", ptr)
	}
	s := mustStream(t, d)
	if err := s.Upload(ptr, make([]byte, 257)); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("uploading past the end: %v", err)
	}
	if err := d.Free(ptr + 1); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("freeing the middle: %v", err)
	}
	if err := d.Free(ptr); err != nil {
		t.Fatal(err)
	}
	if err := d.Free(ptr); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("freeing twice: %v", err)
	}
	if err := s.Download(make([]byte, 1), ptr); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("reading freed memory: %v", err)
	}
	if err := d.Free(0); err != nil {
		t.Errorf("freeing null: %v", err)
	}
}

func TestHostMemoryIsSeenByKernelsWhileTheyRun(t *testing.T) {
	d := openDevice(t)
	k, s := mustKernel(t, d, "wait_for_flag"), mustStream(t, d)
	host, err := d.MallocHost(4)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(k, cudart.Launch{Blocks: 2, Threads: 33}, params(uint64(host.DevicePtr()))); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Synchronize(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a spinning kernel: %v, want a deadline", err)
	}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&host.Bytes()[0])), 1)
	if err := synchronize(t, s); err != nil {
		t.Fatal(err)
	}
	if err := host.Free(); err != nil {
		t.Error(err)
	}
	if err := host.Free(); err == nil {
		t.Error("freed twice without an error")
	}
}

func TestCloseStopsASpinningKernel(t *testing.T) {
	d, err := New(1, Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	k, s := mustKernel(t, d, "wait_for_flag"), mustStream(t, d)
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params(uint64(mustMalloc(t, d, 4)))); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("closing took %v", took)
	}
	if err := s.Synchronize(context.Background()); err == nil {
		t.Error("a stream of a closed device still works")
	}
}

func TestFaultBreaksTheDevice(t *testing.T) {
	d := openDevice(t)
	k, s := mustKernel(t, d, "vector_add"), mustStream(t, d)
	p := mustMalloc(t, d, 4*32)
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 128},
		params(uint64(p), uint64(p), uint64(p), 100)); err != nil {
		t.Fatal(err)
	}
	err := synchronize(t, s)
	if !isResult(err, cudart.ErrIllegalAddress) {
		t.Fatalf("got %v, want CUDA_ERROR_ILLEGAL_ADDRESS", err)
	}
	for _, part := range []string{"vector_add", "block 0, thread 64", "kernels.ptx:", "ld.global"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if _, again := d.Malloc(4); !isResult(again, cudart.ErrIllegalAddress) {
		t.Errorf("after a fault, Malloc says %v", again)
	}
	if again := s.Upload(p, []byte{1}); !isResult(again, cudart.ErrIllegalAddress) {
		t.Errorf("after a fault, Upload says %v", again)
	}
}

func TestLaunchIsChecked(t *testing.T) {
	d := openDevice(t)
	k, s := mustKernel(t, d, "vector_add"), mustStream(t, d)
	for name, err := range map[string]error{
		"short parameters": s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params(1)),
		"no threads":       s.Launch(k, cudart.Launch{Blocks: 1}, params(1, 2, 3, 4)),
		"too many threads": s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1025}, params(1, 2, 3, 4)),
	} {
		if !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: got %v, want CUDA_ERROR_INVALID_VALUE", name, err)
		}
	}
	if err := s.Launch(nil, cudart.Launch{Blocks: 1, Threads: 1}, nil); !isResult(err, cudart.ErrInvalidHandle) {
		t.Errorf("no kernel: %v", err)
	}
}

func TestLoadModuleErrors(t *testing.T) {
	d := openDevice(t)
	const head = ".version 7.8\n.target sm_80\n.address_size 64\n.entry k { .reg .b32 %r<2>; "
	for name, tt := range map[string]struct {
		text string
		code cudart.Result
	}{
		"syntax":      {"garbage", cudart.ErrInvalidPTX},
		"instruction": {head + "nosuch.f32 %r1, %r1; }", cudart.ErrInvalidPTX},
		"target":      {strings.Replace(head, "sm_80", "sm_103a", 1) + "ret; }", cudart.ErrNoBinaryForGPU},
	} {
		if err := loadKernel(d, tt.text, "k"); !isResult(err, tt.code) {
			t.Errorf("%s: got %v, want %v", name, err, tt.code)
		}
	}
	m, err := d.LoadModule("good", []byte(head+"ret; }"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Kernel("other"); !isResult(err, cudart.ErrNotFound) {
		t.Errorf("a kernel that is not there: %v", err)
	}
	if err := m.Unload(); err != nil {
		t.Error(err)
	}
	if err := m.Unload(); err == nil {
		t.Error("unloaded twice without an error")
	}
}

func TestModuleVariablesPersist(t *testing.T) {
	d := openDevice(t)
	k, s, out := mustKernel(t, d, "use_variables"), mustStream(t, d), mustMalloc(t, d, 4)
	for want := uint32(42); want < 45; want++ {
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params(uint64(out))); err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if err := s.Download(got[:], out); err != nil || binary.LittleEndian.Uint32(got[:]) != want {
			t.Errorf("got %v, %v; want %d", got, err, want)
		}
	}
}

func TestPrepareRefusesForeignKernels(t *testing.T) {
	d, other := openDevice(t), openDevice(t)
	s := mustStream(t, d)
	if err := s.Prepare(mustKernel(t, d, "vector_add")); err != nil {
		t.Error(err)
	}
	if err := s.Prepare(mustKernel(t, other, "vector_add")); !isResult(err, cudart.ErrInvalidHandle) {
		t.Errorf("a kernel of another device: %v", err)
	}
}

func TestGraphReplays(t *testing.T) {
	d := openDevice(t)
	k, s := mustKernel(t, d, "vector_add"), mustStream(t, d)
	const n = 64
	a, sum := mustMalloc(t, d, 4*n), mustMalloc(t, d, 4*n)
	if err := s.Upload(a, floats(n, func(int) float32 { return 3 })); err != nil {
		t.Fatal(err)
	}
	args := params(uint64(a), uint64(sum), uint64(sum), n)
	g, err := s.Capture(func() error {
		if _, err := s.Capture(func() error { return nil }); !isResult(err, cudart.ErrCaptureForbidden) {
			t.Errorf("capturing twice: %v", err)
		}
		if err := s.Synchronize(context.Background()); !isResult(err, cudart.ErrCaptureForbidden) {
			t.Errorf("synchronizing a capturing stream: %v", err)
		}
		if err := s.Upload(a, []byte{1}); !isResult(err, cudart.ErrCaptureForbidden) {
			t.Errorf("uploading to a capturing stream: %v", err)
		}
		if err := s.Prepare(k); !isResult(err, cudart.ErrCaptureForbidden) {
			t.Errorf("preparing a capturing stream: %v", err)
		}
		return s.Launch(k, cudart.Launch{Blocks: 1, Threads: n}, args)
	})
	if err != nil {
		t.Fatal(err)
	}
	args[0]++ // the graph has its own copy
	check := func(want float32) {
		t.Helper()
		got := make([]byte, 4*n)
		if err := s.Download(got, sum); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, floats(n, func(int) float32 { return want })) {
			t.Errorf("got %v, want %v everywhere", got[:8], want)
		}
	}
	check(0)
	for range 4 {
		if err := g.Launch(s); err != nil {
			t.Fatal(err)
		}
	}
	check(12)
}

func TestCopyFillAndEvents(t *testing.T) {
	d := openDevice(t)
	s := mustStream(t, d)
	a, b := mustMalloc(t, d, 300), mustMalloc(t, d, 300)
	start, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	end, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := end.Since(start); !isResult(err, cudart.ErrNotReady) {
		t.Errorf("events that were not recorded: %v", err)
	}
	for _, err := range []error{s.Record(start), s.Fill(a, 7, 300), s.Copy(b+1, a, 200), s.Record(end)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 300)
	if err := s.Download(got, b); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat([]byte{0}, bytes.Repeat([]byte{7}, 200), make([]byte, 99))
	if !bytes.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if took, err := end.Since(start); err != nil || took <= 0 {
		t.Errorf("the commands took %v, %v", took, err)
	}
	if err := s.Copy(a, b+200, 500); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("copying past the end: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Fill(a, 1, 1); err == nil {
		t.Error("a closed stream takes work")
	}
}

// Memsets set their bytes, whole pages among them, and no others.
func TestFillKeepsToItsRange(t *testing.T) {
	const bytesOfAll, value = 5 << 12, 7
	d := openDevice(t)
	s, at := mustStream(t, d), mustMalloc(t, d, bytesOfAll)
	for _, fill := range []struct{ begin, end int64 }{
		{0, bytesOfAll},
		{0, 3 << 12},
		{100, 4<<12 + 50},
		{1 << 12, 2 << 12},
		{1<<12 - 1, 1<<12 + 1},
		{10, 20},
		{4<<12 + 1, bytesOfAll},
	} {
		for _, x := range []byte{0, value + 1} {
			want := bytes.Repeat([]byte{value}, bytesOfAll)
			for i := fill.begin; i < fill.end; i++ {
				want[i] = x
			}
			got := make([]byte, bytesOfAll)
			err := errors.Join(s.Fill(at, value, bytesOfAll), s.Fill(at+cudart.DevicePtr(fill.begin), x, fill.end-fill.begin),
				s.Download(got, at))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("bytes %d to %d set to %d: others were, or not all", fill.begin, fill.end, x)
			}
		}
	}
}

// A kernel on one stream may wait for a kernel on another.
func TestStreamsRunConcurrently(t *testing.T) {
	d := openDevice(t)
	waiter, first, second := mustKernel(t, d, "wait_for_flag"), mustStream(t, d), mustStream(t, d)
	flag, one := mustMalloc(t, d, 4), mustMalloc(t, d, 4)
	if err := second.Upload(one, []byte{1, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := first.Launch(waiter, cudart.Launch{Blocks: 1, Threads: 32}, params(uint64(flag))); err != nil {
		t.Fatal(err)
	}
	if err := second.Copy(flag, one, 4); err != nil {
		t.Fatal(err)
	}
	if err := synchronize(t, first); err != nil {
		t.Fatal(err)
	}
}
