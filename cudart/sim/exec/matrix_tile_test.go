package exec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// tileForm is a kernel that multiplies floats in memory, and how many bytes it reads and writes there.
type tileForm struct {
	name, text string
	bytes      int
	threads    int
	params     []uint64 // after the address of the memory
}

// tileForms are products of floats with accumulators in fp32: mma, wmma with accumulators as they are and transposed,
// wgmma with A in memory and in registers, with and without the accumulators of before.
func tileForms() (all []tileForm) {
	for _, typ := range []string{"f16", "bf16"} {
		for _, k := range []int{8, 16} {
			name := fmt.Sprintf("mma %s k%d", typ, k)
			all = append(all, tileForm{name, fragmentKernel(mmaText(typ, k)), 32 * fragmentBytes, 32, nil})
		}
		for _, registers := range []bool{false, true} {
			m := multiplyTest{typ: typ, n: 24, registers: registers, noScale: registers, negate: [2]bool{registers, false}}
			all = append(all, tileForm{
				fmt.Sprintf("wgmma %s, A in registers %t", typ, registers),
				wgmmaKernel(m.n/2, "wgmma.fence.sync.aligned;\n"+m.text()+
					"\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"),
				32768 + 512*132, 128,
				[]uint64{dense(false, 32, 0, 64).bits(), dense(false, 32, startOfB, 24).bits()},
			})
		}
	}
	forms, starts := wmmaTests()
	for i, tt := range forms {
		if tt.d == "f32" && starts[i] == "f32" {
			w := newWMMATest(tt, starts[i], 0, 0, ".global")
			all = append(all, tileForm{"w" + tt.name(), w.text(), 4 * wmmaBytes, 32, nil})
		}
	}
	return all
}

// TestTilesAreLoops compares products by assembly with those by loops, bit for bit, of numbers of all kinds.
func TestTilesAreLoops(t *testing.T) {
	requireVectors(t)
	r := rand.New(rand.NewPCG(19, 20))
	for _, form := range tileForms() {
		t.Run(form.name, func(t *testing.T) {
			programs := [2]*Program{compileWith(t, form.text, false), compileWith(t, form.text, true)}
			for i := range 24 {
				model := tensorcore.Of(8 + i%2)
				image := randomFloats(r, form.bytes, i%4 < 2)
				if tiles, loops := form.run(t, programs[0], model, image), form.run(t, programs[1], model, image); !bytes.Equal(
					tiles, loops) {
					t.Fatal("assembly and loops differ")
				}
			}
		})
	}
}

func (form tileForm) run(t *testing.T, p *Program, model tensorcore.Model, image []byte) []byte {
	t.Helper()
	var mem memory
	base := mem.allocate(form.bytes)
	copy(mem.at(base), image)
	g := launchKernel(t, p, "run", Config{
		Threads: form.threads, Params: words(append([]uint64{base}, form.params...)...), Memory: &mem, TensorCores: model,
	})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	return mem.at(base)[:form.bytes]
}

// randomFloats are 16-bit floats, of which two are also a single: runs of zeros, and with special infinities and NaNs.
func randomFloats(r *rand.Rand, n int, special bool) []byte {
	image := make([]byte, n)
	for at := 0; at < n; at += 2 {
		x := uint16(0x3c00+r.IntN(0x400)) | uint16(r.IntN(2))<<15
		switch {
		case at/1024%3 == 0 && r.IntN(100) > 0:
			x &= 0x8000
		case special && r.IntN(100) == 0:
			x = []uint16{0x7f80, 0xff80, 0x7c00, 0xfc00, 0x7fff, 1, 0x8001, 0x0080}[r.IntN(8)]
		case r.IntN(3) == 0:
			x = uint16(r.Uint32()) &^ 0x4400
		}
		binary.LittleEndian.PutUint16(image[at:], x)
	}
	return image
}
