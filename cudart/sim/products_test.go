package sim

import "math/rand/v2"

// product is matrices that an instruction multiplies: d = a*b + c.
type product struct {
	a, b [][]uint16 // rows of a, columns of b
	c    [][]uint32 // rows
}

// productKind says what random numbers a product is of.
type productKind struct {
	name      string
	low, high int    // exponents of elements, as far as their format goes
	start     [2]int // exponents of the accumulator
	zeroes    int    // one of so many elements and accumulators is a zero; 0 for none
	specials  int    // and an infinity or a NaN
	pairs     bool   // elements are such that products cancel
}

// productKinds are compared between GPU and simulator. Exponents that no format
// has stand for subnormal numbers, or for the largest ones.
func productKinds() []productKind {
	return []productKind{
		{name: "any", low: -200, high: 200, start: [2]int{-150, 150}, zeroes: 9, specials: 40},
		{name: "near one", low: -1, high: 1, start: [2]int{-3, 4}},
		{name: "wide", low: -14, high: 14, start: [2]int{-32, 28}},
		{name: "canceling", low: -14, high: 14, start: [2]int{-37, 8}, pairs: true},
		{name: "subnormal", low: -30, high: -10, start: [2]int{-150, 1}, zeroes: 4},
		{name: "zeroes and large", low: 110, high: 127, start: [2]int{-150, 127}, zeroes: 2},
		{name: "infinities", low: -3, high: 3, start: [2]int{-17, 13}, specials: 60},
		{name: "overflowing", low: 61, high: 64, start: [2]int{120, 127}},
		{name: "tiny", low: -78, high: -72, start: [2]int{-150, -125}, zeroes: 3},
	}
}

// random returns matrices of numbers with so many bits of exponent.
func (k productKind) random(r *rand.Rand, exponentBits, rows, columns, depth int) product {
	element := func() uint16 { return uint16(k.number(r, 16, exponentBits, k.low, k.high)) }
	p := product{a: make([][]uint16, rows), b: make([][]uint16, columns), c: make([][]uint32, rows)}
	for i := range p.a {
		p.a[i] = k.vector(depth, 1<<15, element)
		for range columns {
			p.c[i] = append(p.c[i], uint32(k.number(r, 32, 8, k.start[0], k.start[1])))
		}
	}
	for i := range p.b {
		p.b[i] = k.vector(depth, 0, element)
	}
	return p
}

// number returns the bits of a number.
func (k productKind) number(r *rand.Rand, width, exponentBits, low, high int) uint64 {
	fraction, most := width-1-exponentBits, 1<<exponentBits-1
	sign, significand := r.Uint64N(2)<<(width-1), r.Uint64N(1<<fraction)
	switch {
	case k.zeroes > 0 && r.IntN(k.zeroes) == 0:
		return sign
	case k.specials > 0 && r.IntN(k.specials) == 0:
		return sign | uint64(most)<<fraction | significand*r.Uint64N(2)
	}
	exponent := most/2 + low + r.IntN(high-low+1)
	return sign | uint64(max(0, min(most-1, exponent)))<<fraction | significand
}

// vector returns so many elements. Of pairs, every second one has a partner that is
// the same but for the bits to flip.
func (k productKind) vector(depth int, flip uint16, element func() uint16) []uint16 {
	v := make([]uint16, depth)
	for i := range v {
		if v[i] = element(); k.pairs && i%4 == 1 {
			v[i] = v[i-1] ^ flip
		}
	}
	return v
}
