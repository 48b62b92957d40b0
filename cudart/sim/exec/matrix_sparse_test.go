package exec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// sparseRows is the metadata of 16 rows of A: for each chunk of a row the two quarters that are held, in this order.
type sparseRows [16][][2]int

// randomRows has so many chunks in a row. Of pairs of singles only the first or the second half is held.
func randomRows(r *rand.Rand, chunks, bits int, ordered bool) (rows sparseRows) {
	for row := range rows {
		for range chunks {
			first := r.IntN(4)
			second := (first + 1 + r.IntN(3)) % 4
			if ordered && first > second {
				first, second = second, first
			}
			if bits == 32 {
				first = r.IntN(2) * 2
				second = first + 1
			}
			rows[row] = append(rows[row], [2]int{first, second})
		}
	}
	return rows
}

// held are the places along K of the elements of a row that are held.
func (rows *sparseRows) held(row, bits int) (k []int) {
	for chunk, quarters := range rows[row] {
		switch bits {
		case 32:
			k = append(k, 2*chunk+quarters[0]/2)
		case 4:
			k = append(k, 8*chunk+2*quarters[0], 8*chunk+2*quarters[0]+1, 8*chunk+2*quarters[1], 8*chunk+2*quarters[1]+1)
		default:
			k = append(k, 4*chunk+quarters[0], 4*chunk+quarters[1])
		}
	}
	return k
}

// registers are the metadata of 32 lanes as the layouts of CUTLASS for Hopper have them, from lane to row and chunk.
// Lanes that hold none have ones.
func (rows *sparseRows) registers(bits, selector int) (e [32]uint32) {
	chunks := len(rows[0])
	for lane := range e {
		quad, member := lane/4, lane%4
		var word uint32
		for nibble := range 8 {
			row, chunk := quad+member%2*8, member/2*8+nibble
			if bits >= 16 {
				row, chunk = quad+nibble/4*8, member*4+nibble%4
			}
			switch {
			case bits >= 16 && chunks == 4: // one lane of four
				chunk -= 4 * selector
			case bits >= 16: // two neighbors
				chunk -= 8 * selector
			case chunks == 8:
				chunk -= 8 * selector
			}
			quarters := uint32(15)
			if chunk >= 0 && chunk < chunks {
				quarters = uint32(rows[row][chunk][0] | rows[row][chunk][1]<<2)
			}
			word |= quarters << (4 * nibble)
		}
		e[lane] = word
	}
	return e
}

// sparseTests are all forms of mma.sp, with all selectors.
func sparseTests() (all []mmaTest) {
	add := func(d, a, b, front string, ks ...int) {
		bits := smallNumbers[a].bits
		for _, k := range ks {
			whole := map[int]int{4: 128, 8: 64, 16: 64, 32: 32}[bits] // where metadata fill all lanes, or half of them
			for selector := range whole / k {
				for _, sparse := range []string{".sp", ".sp::ordered_metadata"} {
					all = append(all, mmaTest{m: 16, n: 8, k: k, d: d, a: a, b: b, front: front, sparse: sparse, selector: selector})
				}
			}
		}
	}
	add("f16", "f16", "f16", "", 16, 32)
	add("f32", "f16", "f16", "", 16, 32)
	add("f32", "bf16", "bf16", "", 16, 32)
	add("f32", "tf32", "tf32", "", 8, 16)
	for _, signs := range []string{"ss", "su", "us", "uu"} {
		for _, saturate := range []string{"", ".satfinite"} {
			add("s32", signs[:1]+"8", signs[1:]+"8", saturate, 32, 64)
			add("s32", signs[:1]+"4", signs[1:]+"4", saturate, 64, 128)
		}
	}
	for _, a := range []string{"e4m3", "e5m2"} {
		for _, b := range []string{"e4m3", "e5m2"} {
			add("f32", a, b, "", 64)
		}
	}
	return all
}

// metadata makes those of random rows, and returns which places along K a row holds.
func (tt mmaTest) metadata(r *rand.Rand, lanes *operandsOfLanes) func(row int) []int {
	bits := smallNumbers[tt.a].bits
	chunk := map[int]int{4: 8, 8: 4, 16: 4, 32: 2}[bits]
	rows := randomRows(r, tt.k/chunk, bits, strings.Contains(tt.sparse, "ordered"))
	for l, word := range rows.registers(bits, tt.selector) {
		lanes.e[l] = binary.LittleEndian.AppendUint32(nil, word)
	}
	return func(row int) []int { return rows.held(row, bits) }
}

func TestAllFormsOfSparseMMA(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, tt := range sparseTests() {
		tt.run(t, r)
	}
}

// Metadata that the ISA leaves undefined are a fault, which names row and chunk.
func TestInvalidMetadata(t *testing.T) {
	const sp, ordered = "mma.sp", "mma.sp::ordered_metadata"
	for _, tt := range []struct {
		name, types string
		k           int
		meta        uint32
		want        string
	}{
		{sp, "f32.f16.f16.f32", 16, 0x44454444, "row 8 and chunk 0 are 0101: they must name two different quarters"},
		{sp, "f32.f16.f16.f32", 16, 0x44444441, ""},
		{ordered, "f32.f16.f16.f32", 16, 0x44444441, "row 0 and chunk 0 are 0001: with .sp::ordered_metadata"},
		{ordered, "f32.f16.f16.f32", 16, 0x4489cde4, ""},
		{sp, "f32.tf32.tf32.f32", 8, 0x44444484, "row 0 and chunk 1 are 1000: of .tf32"},
	} {
		body := fmt.Sprintf("mov.b32 %%a2, %#x; %s.sync.aligned.m16n8k%d.row.col.%s "+
			"{%%d0, %%d1, %%d2, %%d3}, {%%a0, %%a1}, {%%b0, %%b1}, {%%c0, %%c1, %%c2, %%c3}, %%a2, 1;",
			tt.meta, tt.name, tt.k, tt.types)
		text := strings.Replace(fragmentKernel(body), ".version 8.0", ".version 8.5", 1)
		var mem memory
		k, _ := compileText(t, text).Kernel("run")
		g, err := Launch(k, Config{
			Blocks: 1, Threads: 32, Params: words(mem.allocate(32 * fragmentBytes)), Memory: &mem, SMs: 1, Clock: &ticks{},
			TensorCores: tensorcore.Of(9),
		})
		if err == nil {
			err = finish(t, g)
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", body, err, tt.want)
		}
	}
}

// A sparse A comes from registers or shared memory, and B, which has twice as many elements along K, lies in all
// layouts that hold them.
func TestSparseWGMMA(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	layoutsOfB := []inDescriptor{
		{start: startOfB, leading: 128, stride: 512},
		dense(false, 64, startOfB, 24), dense(false, 128, startOfB, 24),
		dense(true, 0, startOfB, 24), dense(true, 32, startOfB, 24), dense(true, 64, startOfB, 24), dense(true, 128, startOfB, 24),
	}
	for i, b := range layoutsOfB {
		if b.mnMajor && b.swizzle > 0 {
			b.leading = 32 * b.swizzle // behind four patterns along K
		}
		for selector := range 2 {
			for _, registers := range []bool{false, true} {
				tt := multiplyTest{
					typ: []string{"f16", "bf16"}[i%2], n: 24, a: dense(i%3 == 0, 64, 0, 64), b: b, registers: registers,
					sparse: ".sp", selector: selector, negate: [2]bool{registers, false},
				}
				tt.run(t, r, nil)
				tt.run(t, r, rand.New(rand.NewPCG(uint64(i), 0)))
			}
		}
	}
}
