package sim

import (
	"bytes"
	_ "embed"
	"testing"

	"gpurun/cudart"
)

//go:embed testdata/copies.ptx
var copiesPTX []byte

// copyOn runs both kernels of copies.ptx on a device and compares what they
// copied.
func copyOn(t *testing.T, d cudart.Device) {
	t.Helper()
	m, err := d.LoadModule("copies.ptx", copiesPTX)
	if err != nil {
		t.Fatal(err)
	}
	s, data, out := mustStream(t, d), mustMalloc(t, d, 1024), mustMalloc(t, d, 1024)
	want := make([]byte, 1024)
	for i := range want {
		want[i] = byte(i*i>>3 + i)
	}
	if err := s.Upload(data, want); err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"copy_async", "copy_bulk"} {
		k, err := m.Kernel(entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Fill(out, 0, 1024); err != nil {
			t.Fatal(err)
		}
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 64}, params(uint64(data), uint64(out))); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1024)
		if err := s.Download(got, out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s copied something else", entry)
		}
	}
}

func TestAsynchronousCopies(t *testing.T) {
	for seed := range uint64(6) {
		copyOn(t, openWith(t, Options{Seed: seed}))
	}
}
