package exec

import (
	"encoding/binary"
	"os"
	"testing"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/tensorcore"
)

//go:generate clang-22 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx78 -O3 -S testdata/kernels.cu -o testdata/kernels.ptx
//go:generate clang-22 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx78 -O3 -S testdata/matmul.cu -o testdata/matmul.ptx

// memory is a Memory of a few regions, numbered from FirstRegion.
type memory [][]byte

// allocate adds a region of n bytes and returns its address.
func (m *memory) allocate(n int) uint64 {
	*m = append(*m, zeroed(n))
	return uint64(FirstRegion+len(*m)-1) << RegionShift
}

func (m *memory) at(addr uint64) []byte {
	r, ok := m.Resolve(addr)
	if !ok {
		return nil
	}
	return r.Data[addr-r.Base:]
}

func (m *memory) Resolve(addr uint64) (Region, bool) {
	i := addr>>RegionShift - FirstRegion
	if i >= uint64(len(*m)) {
		return Region{}, false
	}
	return Region{Base: (i + FirstRegion) << RegionShift, Data: (*m)[i]}, true
}

// ticks is a Clock that advances by one at each look.
type ticks struct{ now uint64 }

func (c *ticks) Nanoseconds() uint64 {
	c.now++
	return c.now
}

// Compile compiles all kernels of a module.
func Compile(m *ptx.Module) (*Program, error) { return compileModule(m, false) }

func compileModule(m *ptx.Module, loops bool) (*Program, error) {
	p, err := Load(m)
	if err != nil {
		return nil, err
	}
	p.loops = loops
	for _, e := range m.Entries {
		if _, err := p.Kernel(e.Name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func parseText(t testing.TB, text string) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse("test.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compileText(t testing.TB, text string) *Program {
	t.Helper()
	return compileWith(t, text, false)
}

// compileWith compiles with or without assembly.
func compileWith(t testing.TB, text string, loops bool) *Program {
	t.Helper()
	p, err := compileModule(parseText(t, text), loops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func compileFile(t testing.TB, path string) *Program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return compileText(t, string(text))
}

// words lays out a parameter block.
func words(values ...uint64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// launchKernel makes a grid with defaults for what cfg leaves out.
func launchKernel(t testing.TB, p *Program, entry string, cfg Config) *Grid {
	t.Helper()
	k, err := p.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Blocks == 0 && cfg.GridDim.X == 0 {
		cfg.Blocks = 1
	}
	if cfg.Threads == 0 && cfg.BlockDim.X == 0 {
		cfg.Threads = 32
	}
	if cfg.Memory == nil {
		cfg.Memory = &memory{}
	}
	cfg.SMs, cfg.Clock, cfg.TensorCores = 4, &ticks{}, tensorcore.Of(9)
	g, err := Launch(k, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// finish runs a grid to its end; one that idles too long fails the test.
func finish(t testing.TB, g *Grid) error {
	t.Helper()
	for idle := 0; idle < 1000; {
		state, err := g.Turn(1 << 12)
		switch {
		case err != nil:
			return err
		case state == Done:
			return nil
		case state == Idle:
			idle++
		}
	}
	t.Fatal("the grid does nothing but spin")
	return nil
}
