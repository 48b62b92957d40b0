package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// sparseForm is the metadata of a product of a sparse A.
type sparseForm struct {
	single   bool // of a half of each pair of singles, in place of two of four elements
	ordered  bool
	selector int
}

// append appends a register of metadata. Any of these is allowed in every lane.
func (f *sparseForm) append(r *rand.Rand, out []byte) []byte {
	quarters := []uint32{4, 8, 9, 12, 13, 14}
	switch {
	case f.single:
		quarters = []uint32{4, 14}
	case !f.ordered:
		quarters = append(quarters, 1, 2, 6, 3, 7, 11)
	}
	var word uint32
	for range 8 {
		word = word<<4 | quarters[r.IntN(len(quarters))]
	}
	return binary.LittleEndian.AppendUint32(out, word)
}

// newSparseForms are mma.sp of a shape with all selectors.
func newSparseForms(modifiers, d, a, b string, k, selectors int) (all []mmaForm) {
	for selector := range selectors {
		for _, variant := range []string{".sp", ".sp::ordered_metadata"} {
			head := headOfAmpere
			switch {
			case variant != ".sp":
				head = ".version 8.5\n.target sm_90"
			case operandTypes[a].exponent > 0 && operandTypes[a].bits == 8:
				head = headOfHopper
			}
			f := newMMAForm(head, fmt.Sprintf("m16n8k%d", k), modifiers, d, a, b, k)
			f.name = strings.Replace(f.name, "mma.sync", "mma"+variant+".sync", 1)
			f.a.n /= 2
			f.metadata = &sparseForm{operandTypes[a].bits == 32, variant != ".sp", selector}
			all = append(all, f)
		}
	}
	return all
}

// sparseForms are all forms of mma.sp.
func sparseForms() (all []mmaForm) {
	add := func(modifiers, d, a, b string, k, selectors int) {
		all = append(all, newSparseForms(modifiers, d, a, b, k, selectors)...)
	}
	for _, k := range []int{16, 32} {
		add("", "f16", "f16", "f16", k, 64/k)
		add("", "f32", "f16", "f16", k, 64/k)
		add("", "f32", "bf16", "bf16", k, 64/k)
		add("", "f32", "tf32", "tf32", k/2, 64/k)
	}
	for _, a := range []string{"e4m3", "e5m2"} {
		for _, b := range []string{"e4m3", "e5m2"} {
			add("", "f32", a, b, 64, 1)
		}
	}
	for _, signs := range []string{"ss", "su", "us", "uu"} {
		for _, saturate := range []string{"", ".satfinite"} {
			for bits, k := range map[int]int{8: 32, 4: 64} {
				a, b := fmt.Sprint(signs[:1], bits), fmt.Sprint(signs[1:], bits)
				add(saturate, "s32", a, b, k, 2)
				add(saturate, "s32", a, b, 2*k, 1)
			}
		}
	}
	return all
}

// newSparseWGMMA is wgmma.mma_async.sp of what a dense form multiplies.
func newSparseWGMMA(name string, f wgmmaForm, k, number int) wgmmaForm {
	f.metadata = &sparseForm{operandTypes[f.a].bits == 32, false, 0}
	if operandTypes[f.a].bits > 8 {
		f.metadata.selector = number / 3 % 2
	}
	name = strings.Replace(name, "mma_async", "mma_async.sp", 1)
	f.name = strings.Replace(name, fmt.Sprintf("k%d.", k), fmt.Sprintf("k%d.", 2*k), 1)
	return f
}
