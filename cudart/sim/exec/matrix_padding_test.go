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
		return tensorcore.BFloat16.Decode(uint32(bits))
	}
	some := func(special bool) matrix[tensorcore.Element] {
		m := matrix[tensorcore.Element]{16, make([]tensorcore.Element, 8*16)}
		for i := range 8 {
			for k := range 16 {
				m.row(i)[k] = element(special && r.IntN(100) == 0)
				if i%2 == 0 {
					m.row(i)[k] = tensorcore.BFloat16.Decode(uint32(r.IntN(2)) * negativeZero)
				}
			}
		}
		return m
	}
	left := 0 // out
	for i := range 200 {
		a, b := some(i%4 == 1), some(i%4 == 2)
		p := floatProduct{}
		p.takeA(a)
		p.takeB(b)
		for row := range 8 {
			for column := range 8 {
				n := p.products(row, column, 16)
				if n == 0 {
					left++
				}
				for _, model := range []tensorcore.Model{tensorcore.Of(8), tensorcore.Of(9)} {
					for _, c := range accumulators {
						want, got := model.Dot(c, a.row(row), b.row(column)), model.Dot(c, a.row(row)[:n], b.row(column)[:n])
						if got != want {
							t.Fatalf("%#x + %v * %v of %d products is %#x, want %#x", c, a.row(row), b.row(column), n, got, want)
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
