package tensorcore

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// value is what the bits of a format stand for, by the definition of the format.
func value(f Format, bits uint32) float64 {
	b := uint16(bits)
	switch f {
	case BFloat16:
		return float64(math.Float32frombits(bits << 16))
	case TF32:
		return float64(math.Float32frombits(bits >> 13 << 13))
	case E4M3:
		return valueOfE4M3(bits)
	case E5M2:
		b <<= 8
	}
	e, m := int(b>>10&31), float64(b&1023)
	x := math.Ldexp(1024+m, e-25)
	switch {
	case e == 31 && m != 0:
		x = math.NaN()
	case e == 31:
		x = math.Inf(1)
	case e == 0:
		x = math.Ldexp(m, -24)
	}
	return math.Copysign(x, float64(int16(b))) // an int16 is never -0, but has its sign
}

func valueOfE4M3(b uint32) float64 {
	e, m := int(b>>3&15), float64(b&7)
	x := math.Ldexp(8+m, e-10)
	switch {
	case b&127 == 127:
		x = math.NaN()
	case e == 0:
		x = math.Ldexp(m, -9)
	}
	if b&128 != 0 {
		x = -x
	}
	return x
}

// exponent is that of a finite number in a format whose least is given.
func exponent(x float64, least int) int {
	_, e := math.Frexp(x)
	return max(e-1, least)
}

// exact is the model of the package's documentation in rational arithmetic, for an fp32 accumulator.
func exact[T uint16 | uint32](m Model, f Format, c uint32, a, b []T) uint32 {
	for len(a) > 0 {
		n := min(len(a), m.Block)
		start := float64(math.Float32frombits(c))
		if math.IsInf(start, 0) {
			return c
		}
		c = toSingle(exactBlock(m, f, start, exponent(start, -126), a[:n], b[:n]), m.Cut)
		a, b = a[n:], b[n:]
	}
	return c
}

// exactBlock is the sum of a block before it is rounded. start has an exponent in its own format.
func exactBlock[T uint16 | uint32](m Model, f Format, start float64, ofStart int, a, b []T) *big.Rat {
	least := map[Format]int{Half: -14, BFloat16: -126, TF32: -126, E4M3: -6, E5M2: -14}[f]
	addends, exponents := []*big.Rat{}, []int{m.Floor}
	add := func(x, y float64, e int) {
		if x != 0 && y != 0 {
			product := new(big.Rat).SetFloat64(x)
			addends = append(addends, product.Mul(product, new(big.Rat).SetFloat64(y)))
			exponents = append(exponents, e)
		}
	}
	for i := range a {
		x, y := value(f, uint32(a[i])), value(f, uint32(b[i]))
		add(x, y, exponent(x, least)+exponent(y, least))
	}
	add(start, 1, ofStart)
	most := slices.Max(exponents)
	sum := new(big.Rat)
	for _, x := range addends {
		sum.Add(sum, truncated(x, most-23-m.Extra))
	}
	return sum
}

// truncated cuts x toward zero to a multiple of a power of two.
func truncated(x *big.Rat, power int) *big.Rat {
	unit := new(big.Rat).SetFloat64(math.Ldexp(1, power))
	q := new(big.Rat).Quo(x, unit)
	whole := new(big.Int).Quo(q.Num(), q.Denom()) // Quo truncates
	return unit.Mul(unit, new(big.Rat).SetInt(whole))
}

// toSingle truncates x to a single without the last bits.
func toSingle(x *big.Rat, without int) uint32 {
	if x.Sign() == 0 {
		return 0
	}
	approx, _ := x.Float64() // exact: sums have few bits
	_, e := math.Frexp(approx)
	cut, _ := truncated(x, max(e-24, -149)+without).Float64()
	if math.Abs(cut) >= math.Ldexp(1, 128) {
		cut = math.Inf(x.Sign())
	}
	return math.Float32bits(float32(cut))
}

func decode[T uint16 | uint32](f Format, bits []T) []Element {
	var out []Element
	for _, b := range bits {
		out = append(out, f.Decode(uint32(b)))
	}
	return out
}

func TestDecodeOfAllElements(t *testing.T) {
	for f, bits := range map[Format]int{Half: 16, BFloat16: 16, E4M3: 8, E5M2: 8, TF32: 19} {
		for b := range uint32(1) << bits {
			if f == TF32 {
				b = b<<13 | b&0x1fff // the lowest bits do not count
			}
			want, got := value(f, b), f.Decode(b)
			if got.value != want && !(math.IsNaN(got.value) && math.IsNaN(want)) ||
				math.Signbit(got.value) != math.Signbit(want) && want == want {
				t.Fatalf("format %d, %#x: %v, want %v", f, b, got, want)
			}
		}
	}
}

// operand is a number whose exponent is spread out, or near that of one.
func operand(r *rand.Rand, f Format) uint16 {
	x := uint16(r.Uint32())
	if r.IntN(16) == 0 {
		return x & 0x8000 // a zero
	}
	if r.IntN(16) == 0 {
		return x & 0x807f // small or subnormal
	}
	if f == Half {
		if r.IntN(2) == 0 {
			return x&0x83ff | uint16(13+r.IntN(4))<<10
		}
		return x&0x83ff | uint16(r.IntN(31))<<10
	}
	switch r.IntN(3) {
	case 0:
		return x&0x807f | uint16(124+r.IntN(6))<<7
	case 1:
		return x&0x807f | uint16(100+r.IntN(50))<<7
	}
	return x&0x807f | uint16(r.IntN(255))<<7
}

func accumulator(r *rand.Rand) uint32 {
	x := r.Uint32()
	switch r.IntN(4) {
	case 0:
		return x & 0x80000000
	case 1:
		return x&0x807fffff | uint32(120+r.IntN(16))<<23
	case 2:
		return x & 0x807fffff // subnormal
	}
	return x&0x807fffff | uint32(r.IntN(255))<<23
}

func TestDotIsTheModel(t *testing.T) {
	models := []Model{Of(8), Of(9), {Block: 4, Floor: -126}, {Block: 16, Extra: 3, Floor: -400}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		f, m := Format(r.IntN(2)), models[r.IntN(len(models))]
		c, a, b := accumulator(r), make([]uint16, 16), make([]uint16, 16)
		for i := range a {
			a[i], b[i] = operand(r, f), operand(r, f)
			if i > 0 && r.IntN(4) == 0 { // cancels with its neighbor
				a[i], b[i] = a[i-1]^0x8000, b[i-1]
			}
		}
		if got, want := m.Dot(c, decode(f, a), decode(f, b)), exact(m, f, c, a, b); got != want {
			t.Fatalf("%+v, format %d: %#x + %#x * %#x is %#x, want %#x", m, f, c, a, b, got, want)
		}
	}
}

// No products are as good as those of zeros.
func TestDotOfNothing(t *testing.T) {
	r, none := rand.New(rand.NewPCG(3, 4)), decode(Half, make([]uint16, 1))
	hard := []uint32{
		0, 1 << 31, 1, 1<<31 | 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001,
		0x7fc00000, 0xffffffff,
	}
	for i := range 20000 {
		c := accumulator(r)
		if i < len(hard) {
			c = hard[i]
		}
		for _, m := range []Model{
			Of(8), Of(9), {Block: 16, Floor: -126, Nearest: true}, {Block: 16, Extra: 1}, {Block: 4, Floor: -125},
		} {
			if got, want := m.Dot(c, nil, nil), m.Dot(c, none, none); got != want {
				t.Fatalf("%+v: %#x and nothing is %#x, and with a product of zeros %#x", m, c, got, want)
			}
		}
	}
}

func TestDotOfHardCases(t *testing.T) {
	const one, big, inf, nan, zero = 0x3f80, 0x7f7f, 0x7f80, 0x7fc0, 0
	number := func(x float64) uint16 { return uint16(math.Float32bits(float32(x)) >> 16) } // with few bits
	// Just below the least number, as a product; then what is missing.
	under := func(bits int) (a, b []uint16) {
		whole := float64(int(1)<<bits - 1) // 2047 is 23 * 89
		x, y := whole, 1.0
		if bits == 11 {
			x, y = 23, 89
		}
		return []uint16{number(x * 0x1p-80), number(0x1p-80)},
			[]uint16{number(y * math.Ldexp(1, -69-bits)), number(math.Ldexp(1, -69-bits))}
	}
	minus := func(v []uint16) (out []uint16) {
		for _, x := range v {
			out = append(out, x^0x8000)
		}
		return out
	}
	under3A, under3B := under(3)
	under4A, under4B := under(4)
	under11A, under11B := under(11)
	ulp := func(n uint32) uint32 { return 0x3f800000 + n } // of 1
	for _, tt := range []struct {
		name  string
		model Model
		c     uint32
		a, b  []uint16
		want  uint32
	}{
		{
			"halves of an ulp are kept as far as there are extra bits",
			Model{Block: 16, Extra: 1},
			ulp(0),
			[]uint16{0x3380, 0x3380},
			[]uint16{one, one},
			ulp(1),
		},
		{"and lost without", Model{Block: 16}, ulp(0), []uint16{0x3380, 0x3380}, []uint16{one, one}, ulp(0)},
		{
			"and lost by blocks of one", Model{Block: 1, Extra: 1}, ulp(0), []uint16{0x3380, 0x3380}, []uint16{one, one}, ulp(0),
		},
		{"a quarter less is an ulp less", Model{Block: 16, Extra: 2}, ulp(2), []uint16{0xb300}, []uint16{one}, ulp(1)},
		{"unless it is lost", Model{Block: 16, Extra: 1}, ulp(2), []uint16{0xb300}, []uint16{one}, ulp(2)},
		{"to nearest", Model{Block: 16, Extra: 2, Nearest: true}, ulp(1), []uint16{0x3380}, []uint16{one}, ulp(2)},
		{"products beyond fp32 cancel", Of(9), ulp(5), []uint16{big, big}, []uint16{big, big | 0x8000}, 0},
		{"the largest number", Of(9), 0x7f7fffff, []uint16{zero}, []uint16{one}, 0x7f7fffff},
		{"overflow", Of(9), 0x7f7fffff, []uint16{big}, []uint16{one}, 0x7f800000},
		{"negative overflow", Of(9), 0, []uint16{big}, []uint16{big | 0x8000}, 0xff800000},
		{"infinity", Of(9), ulp(0), []uint16{inf}, []uint16{one}, 0x7f800000},
		{"infinite accumulator", Of(9), 0xff800000, []uint16{one}, []uint16{one}, 0xff800000},
		{"infinity less infinity", Of(9), 0xff800000, []uint16{inf}, []uint16{one}, NaN},
		{"infinity times zero", Of(9), 0, []uint16{inf}, []uint16{zero}, NaN},
		{"NaN", Of(9), 0, []uint16{nan}, []uint16{one}, NaN},
		{"NaN times infinity", Of(9), 0x7f800000, []uint16{nan}, []uint16{inf}, NaN},
		{"NaN accumulator", Of(9), 0xffc00001, []uint16{one}, []uint16{one}, NaN},
		{"zeroes of both signs", Of(9), 0x80000000, []uint16{0x8000}, []uint16{one}, 0},
		{"zero times a large number leaves a small accumulator alone", Of(9), 0x00000001, []uint16{zero}, []uint16{big}, 1},
		{"the least number, of parts that are kept", Of(9), 0, under4A, under4B, 1},
		{"of parts below the floor", Of(9), 0, under11A, under11B, 0},
		{"negative parts below the floor", Of(9), 0x80000000, under11A, minus(under11B), 0},
		{
			"a negative sum too small for a single", Of(9), 0x80000000, []uint16{number(0x1p-75)}, []uint16{number(-0x1p-75)}, 0,
		},
		{
			"what an H200 computes of such", Of(9), 0,
			[]uint16{0x1c3b, 0x9475, 0x0125, 0x81f9, 0x93c1, 0x0211, 0x1fe0, 0x0107},
			[]uint16{0x8076, 0x1efd, 0x0149, 0x8092, 0x0e21, 0x1031, 0x80df, 0x0b1a},
			0,
		},
		{"of parts below a higher floor", Model{Block: 16, Extra: 2, Floor: -126}, 0, under4A, under4B, 0},
		{"of parts above a lower floor", Model{Block: 16, Extra: 2, Floor: -400}, 0, under11A, under11B, 1},
		{"a subnormal accumulator has the least exponent", Model{Block: 16, Extra: 2, Floor: -400}, 1, under3A, under3B, 1},
		{"least times one", Of(9), 0, []uint16{1}, []uint16{one}, 0x00010000},
	} {
		got := tt.model.Dot(tt.c, decode(BFloat16, tt.a), decode(BFloat16, tt.b))
		if got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

// Small integers are exact in every model.
func TestDotOfIntegersIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		sum := r.IntN(2000) - 1000
		c := math.Float32bits(float32(sum))
		a, b := make([]Element, 16), make([]Element, 16)
		for i := range a {
			x, y := r.IntN(513)-256, r.IntN(513)-256
			a[i] = BFloat16.Decode(math.Float32bits(float32(x)) >> 16)
			b[i] = BFloat16.Decode(math.Float32bits(float32(y)) >> 16)
			sum += int(a[i].value * b[i].value)
		}
		for _, m := range []Model{Of(8), Of(9)} {
			if got := math.Float32frombits(m.Dot(c, a, b)); got != float32(sum) {
				t.Fatalf("%+v: %v, want %d", m, got, sum)
			}
		}
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	x, y := make([]Element, 16), make([]Element, 16)
	for i := range x {
		x[i], y[i] = BFloat16.Decode(uint32(0x3f80+r.IntN(256))), BFloat16.Decode(uint32(0x3f80+r.IntN(256)))
	}
	var c uint32
	for b.Loop() {
		c = Of(9).Dot(c&0x7fffff, x, y)
	}
}
