package sim

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

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
	d, err := New(1).Open(0)
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
	if err := s.Launch(k, cudart.Launch{Blocks: 3, Threads: 100}, params(uint64(a), uint64(b), uint64(out), n)); err != nil {
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
