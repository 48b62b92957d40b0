package tensorcore

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// formatModels are the models by which formats are summed.
var formatModels = map[Format][]Model{
	TF32: {Of(8).Mma(TF32), Of(9).Mma(TF32), Of(9).Wmma(TF32)},
	E4M3: {Of(8).Mma(E4M3), Of(9).Wgmma(E4M3)},
	E5M2: {Of(8).Mma(E5M2), Of(9).Wgmma(E5M2), Of(9)},
	Half: {Of(8), Of(9)},
}

// elementOf is random bits of a finite number, near one or anywhere.
func elementOf(r *rand.Rand, f Format) uint32 {
	x := r.Uint32()
	switch f {
	case TF32:
		return x&0x807fffff | uint32(100+r.IntN(50))<<23
	case E4M3:
		if x &= 0xff; x&0x7f == 0x7f {
			return 0
		}
		return x
	case E5M2:
		return x & 0xff & uint32(^(r.IntN(2)+1)<<2) // never the largest exponent
	}
	return uint32(operand(r, f))
}

func vectors(r *rand.Rand, f Format, n int) (a, b []uint32) {
	for range n {
		a, b = append(a, elementOf(r, f)), append(b, elementOf(r, f))
	}
	return a, b
}

func TestDotOfAllFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for f, models := range formatModels {
		for i := range 1000 {
			m, c := models[i%len(models)], accumulator(r)
			if r.IntN(2) == 0 {
				c = c&0x807fffff | uint32(110+r.IntN(30))<<23
			}
			a, b := vectors(r, f, 32)
			if got, want := m.Dot(c, decode(f, a), decode(f, b)), exact(m, f, c, a, b); got != want {
				t.Fatalf("%+v, format %d: %#x + %#x * %#x is %#x, want %#x", m, f, c, a, b, got, want)
			}
		}
	}
}

// nearestHalf rounds to a half by looking at all of them.
func nearestHalf(x *big.Rat) uint16 {
	size := new(big.Rat).Abs(x)
	distance := func(b uint16) *big.Rat {
		v := min(value(Half, uint32(b)), 1<<16) // infinity is rounded to as if it were the next number
		h := new(big.Rat).SetFloat64(v)
		return h.Sub(h, size)
	}
	low, high := uint16(0), uint16(0x7c00)
	if distance(high).Sign() <= 0 {
		low = high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; distance(middle).Sign() <= 0 {
			low = middle
		} else {
			high = middle
		}
	}
	below := distance(low)
	if c := below.Neg(below).Cmp(distance(min(low+1, 0x7c00))); low < 0x7c00 && (c > 0 || c == 0 && low%2 == 1) {
		low++
	}
	if x.Sign() < 0 && low != 0 {
		low |= 0x8000
	}
	return low
}

func TestDotHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for f, models := range formatModels {
		for i := range 500 {
			m, c := models[i%len(models)], operand(r, Half)&0xbfff
			a, b := vectors(r, f, 16)
			if f == TF32 {
				continue // it has none
			}
			got := m.DotHalf(c, decode(f, a), decode(f, b))
			want := c
			for at := 0; at < 16 && want&0x7c00 != 0x7c00; at += m.Block {
				n := min(m.Block, 16-at)
				start := value(Half, uint32(want))
				want = nearestHalf(exactBlock(m, f, start, exponent(start, -14), a[at:at+n], b[at:at+n]))
			}
			if got != want {
				t.Fatalf("%+v, format %d: %#x + %#x * %#x is %#x, want %#x", m, f, c, a, b, got, want)
			}
		}
	}
}

func TestDotHalfOfHardCases(t *testing.T) {
	const one, infinity, nan = 0x3c00, 0x7c00, 0x7e00
	for _, tt := range []struct {
		name       string
		c, x, y, d uint16
	}{
		{"a tie goes to even", one, 0x1000, one, one}, // 1 + 2^-11
		{"a tie goes up to even", one + 1, 0x1000, one, one + 2},
		{"half more than the largest number", 0x7bff, 0x4c00, one, infinity},
		{"less than that", 0x7bff, 0x4bff, one, 0x7bff},
		{"infinity", infinity, one, one, infinity},
		{"negative infinity", one, 0xfc00, one, 0xfc00},
		{"infinity less infinity", infinity, 0xfc00, one, HalfNaN},
		{"NaN", nan, one, one, HalfNaN},
		{"subnormal", 1, 0x8001, one, 0},
		{"zeros of both signs", 0x8000, 0, 0x8000, 0},
	} {
		got := Of(9).DotHalf(tt.c, decode(Half, []uint16{tt.x}), decode(Half, []uint16{tt.y}))
		if got != tt.d {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.d)
		}
	}
}

// Two pairs of each four are summed before the accumulator is added, rounded to nearest.
func TestDotWidened(t *testing.T) {
	m := Of(9)
	a, b := make([]uint32, 32), make([]uint32, 32)
	for i := range a {
		b[i] = 0x38 // one, in E4M3
	}
	a[0], a[2], a[3], a[31] = 0x7e, 0x01, 0xfe, 0x01 // 448 + 2^-9 - 448 + 2^-9
	c := math.Float32bits(1 << 15)
	if got := math.Float32frombits(m.DotWidened(c, decode(E4M3, a), decode(E4M3, b))); got != 1<<15+1.0/256 {
		t.Errorf("%v", got)
	}
	c = math.Float32bits(1<<24 + 2)
	a[31] = 0x40 // 2, which makes half an ulp and 2^-9
	if got := math.Float32frombits(m.DotWidened(c, decode(E4M3, a), decode(E4M3, b))); got != 1<<24+4 {
		t.Errorf("%v", got)
	}
	if got := m.DotHalfWidened(0x8000, decode(E4M3, a), decode(E4M3, b)); got != 0x4001 {
		t.Errorf("%#x", got)
	}
	if !m.Widens(E5M2) || m.Widens(Half) || Of(8).Widens(E4M3) {
		t.Error("other formats are widened")
	}
}
