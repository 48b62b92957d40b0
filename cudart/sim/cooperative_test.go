package sim

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

//go:embed testdata/cooperative.ptx
var cooperativePTX []byte

// checkCooperative has the blocks of grids meet at barriers.
func checkCooperative(t *testing.T, d cudart.Device) {
	t.Helper()
	for _, grid := range []cudart.Dim3{{X: 1}, {X: 2}, {X: 17}, {X: 4, Y: 8, Z: 1}} {
		n := int(grid.Count())
		shape := cudart.Launch{GridDim: grid, Threads: 64, Cooperative: true}
		want := make([]uint32, n)
		for b := range want {
			next := uint32((b + 1) % n)
			want[b] = 4*(next+1) + 100*(0+1+2+3)
		}
		got := launchWords(t, d, cooperativePTX, "exchange", shape, 5*n)
		if diff := cmp.Diff(want, got[:n]); diff != "" {
			t.Errorf("a grid of %v: %s", grid, diff)
		}
	}
}

func TestCooperativeGrid(t *testing.T) {
	for seed := range uint64(8) {
		checkCooperative(t, openWith(t, Options{Seed: seed, Major: 9}))
	}
}

func TestGPUAndSimulatorAgreeOnCooperativeGrids(t *testing.T) {
	d, err := gpuBackend(t, 8).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkCooperative(t, d)
	checkTooLarge(t, d, 1<<20)
}

// checkTooLarge launches a cooperative grid whose blocks cannot all be resident.
func checkTooLarge(t *testing.T, d cudart.Device, blocks int) {
	t.Helper()
	m, err := d.LoadModule("cooperative.ptx", cooperativePTX)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("exchange")
	if err != nil {
		t.Fatal(err)
	}
	s, out := mustStream(t, d), mustMalloc(t, d, 4)
	err = s.Launch(k, cudart.Launch{Blocks: blocks, Threads: 64, Cooperative: true}, params(uint64(out)))
	if !isResult(err, cudart.ErrCoopTooLarge) || !strings.Contains(err.Error(), "resident at once") {
		t.Errorf("a cooperative grid of %d blocks: %v", blocks, err)
	}
}

func TestCooperativeGridTooLarge(t *testing.T) { checkTooLarge(t, openWith(t, Options{}), 1025) }

// A kernel that is not launched as a cooperative one has no workspace.
func TestGridIsNotCooperative(t *testing.T) {
	d := openWith(t, Options{})
	m, err := d.LoadModule("cooperative.ptx", cooperativePTX)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("exchange")
	if err != nil {
		t.Fatal(err)
	}
	s := mustStream(t, d)
	if err := s.Launch(k, cudart.Launch{Blocks: 2, Threads: 1}, params(uint64(mustMalloc(t, d, 64)))); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(t.Context()); err == nil || !strings.Contains(err.Error(), "trap") {
		t.Errorf("got %v, want the kernel's trap", err)
	}
}
