package driver

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart"
)

//go:embed testdata/dependent.ptx
var dependentPTX []byte

// TestLaunchStructures compares with the sizes of CUlaunchConfig and
// CUlaunchAttribute in cuda.h. The stand-in compares the bytes.
func TestLaunchStructures(t *testing.T) {
	if config, attribute := unsafe.Sizeof(launchConfig{}),
		unsafe.Sizeof(launchAttribute{}); config != 56 || attribute != 72 {
		t.Errorf("sizes of %d and %d, want 56 and 72", config, attribute)
	}
}

// TestGPUDependentLaunch has a kernel wait for what the next one does at its
// start: it sees it only where that one may start early.
func TestGPUDependentLaunch(t *testing.T) {
	g := openGPU(t)
	if info := g.dev.Info(); info.Major < 9 {
		err := g.stream.Launch(g.add, cudart.Launch{Blocks: 1, Threads: 1, PDL: true}, make([]byte, 24))
		wantCode(t, err, cudart.ErrNotSupported, "needs compute capability 9.0")
		return
	}
	m := must[cudart.Module](t)(g.dev.LoadModule("dependent", dependentPTX))
	first, second := must[cudart.Kernel](t)(m.Kernel("first")), must[cudart.Kernel](t)(m.Kernel("second"))
	buffer := g.malloc(3)
	pair := func(pdl bool, limit time.Duration) error {
		params := binary.LittleEndian.AppendUint64(nil, uint64(buffer))
		params = binary.LittleEndian.AppendUint64(params, uint64(limit))
		return errors.Join(
			g.stream.Fill(buffer, 0, 12),
			g.stream.Launch(first, cudart.Launch{Blocks: 1, Threads: 1}, params),
			g.stream.Launch(second, cudart.Launch{Blocks: 1, Threads: 1, PDL: pdl}, params),
		)
	}
	early := append(words(1, 1, 0), words(2, 101, 101)...)
	late := append(words(1, 1, 0), words(2, 100, 100)...)

	if err := pair(true, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	g.synchronize()
	g.wantWords(buffer, early)

	if err := pair(false, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	g.synchronize()
	g.wantWords(buffer, late)

	graph := must[cudart.Graph](t)(g.stream.Capture(func() error { return pair(true, 10*time.Second) }))
	for range 3 {
		if err := graph.Launch(g.stream); err != nil {
			t.Fatal(err)
		}
		g.synchronize()
		g.wantWords(buffer, early)
	}
}
