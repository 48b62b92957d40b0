package exec

import "testing"

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
