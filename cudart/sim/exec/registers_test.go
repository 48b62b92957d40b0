package exec

import (
	"fmt"
	"strings"
	"testing"
)

// What a warp left in its registers, the next one to have them does not find.
func TestRegistersBeginAsZero(t *testing.T) {
	k := &Kernel{regs: 3, async: []int32{2}}
	for range 100 {
		w := &warp{grid: &Grid{kernel: k}, warpMemory: k.takeMemory()}
		w.block = &block{grid: w.grid, warps: []*warp{w}}
		for slot := range w.regs {
			if w.expandLanes(int32(slot)); w.regs[slot] != (lanes{}) {
				t.Fatalf("register %d begins as %v", slot, w.regs[slot])
			}
		}
		for slot := range w.regs {
			w.setAffine(int32(slot), affine{base: 7, stride: 3})
		}
		w.expandLanes(0)
		w.block.giveMemory()
	}
}

// A function with very many registers and branches is compiled without live ranges, in time and memory that
// are in proportion to its text.
func TestVeryLargeFunction(t *testing.T) {
	const n = 17000
	var body strings.Builder
	body.WriteString(".reg .b32 s<20000>;\n")
	for i := range n {
		fmt.Fprintf(&body, "mov.u32 s%d, %d; setp.ne.u32 p, %%t, %d; @p bra L%d; add.u32 %%r, %%r, s%d; L%d:\n", i, i+5, i, i,
			i, i)
	}
	got, _, err := runCalling(t, calling("", body.String()), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != uint32(i+5) {
			t.Errorf("thread %d got %d, want %d", i, v, i+5)
		}
	}
}
