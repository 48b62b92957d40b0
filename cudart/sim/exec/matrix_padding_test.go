package exec

import (
	"math/rand/v2"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// Whatever is left out changes no sum, whichever accumulator, zeros and infinities
// there are.
func TestPaddingAddsNothing(t *testing.T) {
	const infinity, nan, negativeZero = 0x7f80, 0x7fc0, 0x8000
	accumulators := []uint32{0, 1 << 31, 1, 0x00800000, 0x3f800001, 0x7f800000, 0xff800000, 0x7fc00001}
	r := rand.New(rand.NewPCG(7, 8))
	element := func(special bool) tensorcore.Element {
		bits := uint16(r.Uint32())
		if special {
			bits = []uint16{infinity, nan, infinity | negativeZero}[r.IntN(3)]
		}
		if bits&infinity == infinity && !special {
			bits &^= 0x4000
		}
		return tensorcore.BFloat16.Decode(bits)
	}
	some := func(special bool) [][16]tensorcore.Element {
		rows := make([][16]tensorcore.Element, 8)
		for i := range rows {
			for k := range rows[i] {
				rows[i][k] = element(special && r.IntN(100) == 0)
				if i%2 == 0 {
					rows[i][k] = tensorcore.BFloat16.Decode(uint16(r.IntN(2)) * negativeZero)
				}
			}
		}
		return rows
	}
	left := 0 // out
	for i := range 200 {
		a, b := some(i%4 == 1), some(i%4 == 2)
		p := findPadding(a, b)
		for row := range a {
			for column := range b {
				n := p.products(row, column, 16)
				if n == 0 {
					left++
				}
				for _, model := range []tensorcore.Model{tensorcore.Of(8), tensorcore.Of(9)} {
					for _, c := range accumulators {
						want, got := model.Dot(c, a[row][:], b[column][:]), model.Dot(c, a[row][:n], b[column][:n])
						if got != want {
							t.Fatalf("%#x + %v * %v of %d products is %#x, want %#x", c, a[row], b[column], n, got, want)
						}
					}
				}
			}
		}
	}
	if most := 200 * 48; left < most/2 || left == 200*64 {
		t.Errorf("%d of up to %d sums were left out", left, most)
	}
}
