package exec

import (
	"os"
	"runtime"
	"testing"

	"gpurun/cudart/sim/ptx"
)

// A compiled module takes no more memory than 20 times its text.
func TestCompiledModuleIsSmall(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels.ptx")
	if err != nil {
		t.Fatal(err)
	}
	const copies, most = 50, 20
	var programs [copies]*Program
	before := heldMemory()
	for i := range programs {
		m, err := ptx.Parse("test.ptx", text)
		if err != nil {
			t.Fatal(err)
		}
		if programs[i], err = Load(m); err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			if _, err := programs[i].Kernel(e.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if held := heldMemory() - before; held > most*copies*len(text) {
		t.Errorf("a module of %d bytes takes %d: %d times as much, at most %d times is wanted", len(text), held/copies,
			held/copies/len(text), most)
	}
	runtime.KeepAlive(programs)
}

// heldMemory is the size of all objects that can be reached, in bytes.
func heldMemory() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
