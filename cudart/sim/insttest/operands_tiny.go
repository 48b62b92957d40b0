package insttest

import (
	"math"
	"math/rand/v2"
	"strings"
)

// Operands whose exact result lies at the smallest normal single, 2^-126, or just below it. Whether .ftz
// flushes such a result depends on when the hardware looks: before it rounds, after it rounds with an unbounded
// exponent, or after it rounds to a multiple of 2^-149. Below, the unit is 2^-149, so that 2^-126 is 2^23.

// smallest is the smallest normal single, and boundary what it is in units.
const (
	smallest = 0x1p-126
	boundary = 1 << 23
)

// tinyOperands returns operands of a row on singles, with a result there; nil if the row's instruction has none.
func tinyOperands(r *rand.Rand, row Row) []uint64 {
	mnemonic, _, _ := strings.Cut(row.Text, " ")
	parts := strings.Split(mnemonic, ".")
	switch op, t := parts[0], parts[len(parts)-1]; {
	case t == "f32x2":
		low, high := tinySingles(r, op), tinySingles(r, op)
		for i := range low {
			low[i] |= high[i] << 32
		}
		return low
	case strings.HasPrefix(mnemonic, "cvt.") && strings.HasSuffix(mnemonic, ".f32.f64"):
		return []uint64{math.Float64bits(anySign(r) * smallest * (1 - math.Ldexp(float64(r.Uint32N(1<<16)), -38-r.IntN(4))))}
	case t == "f32" && strings.Count(mnemonic, "f32") == 1:
		return tinySingles(r, op)
	}
	return nil
}

func tinySingles(r *rand.Rand, op string) []uint64 {
	sign := anySign(r)
	var x []float64
	switch op {
	case "add", "sub": // exact: all singles are multiples of the unit
		a := float64(boundary + r.IntN(3*boundary))
		b := boundary - float64(r.IntN(4)) - a
		if op == "sub" {
			b = -b
		}
		x = []float64{sign * a * smallest / boundary, sign * b * smallest / boundary}
	case "mul":
		a, b := tinyProduct(r, boundary)
		x = []float64{sign * a, b}
	case "fma", "mad":
		c := float64(r.IntN(boundary)+boundary) * anySign(r) * float64(r.IntN(2))
		a, b := tinyProduct(r, boundary-c)
		x = []float64{sign * a, b, sign * c * smallest / boundary}
	case "div":
		b := float64(boundary + 1 + r.IntN(boundary-1))
		scale := math.Ldexp(1, -149+r.IntN(127))
		x = []float64{sign * (b - float64(r.IntN(3))) * scale, b * scale / smallest}
	case "rcp": // of numbers just above 2^126
		x = []float64{sign * float64(boundary+r.IntN(4)) / boundary / smallest}
	case "ex2":
		x = []float64{-126 - math.Ldexp(float64(r.IntN(8)), -17)}
	case "sin":
		x = []float64{sign * float64(boundary+r.IntN(4)) * smallest / boundary}
	default:
		return nil
	}
	var out []uint64
	for _, v := range x {
		out = append(out, uint64(math.Float32bits(float32(v))))
	}
	return out
}

// tinyProduct returns singles whose exact product is n units or a little nearer to zero: by less than 2 units, in
// steps of 2^-23 of a unit.
func tinyProduct(r *rand.Rand, n float64) (a, b float64) {
	a = float64(boundary + r.IntN(boundary))
	b = math.Trunc((math.Abs(n)*boundary - 1) / a)
	shift := r.IntN(40)
	return math.Ldexp(a, -106+shift), math.Copysign(math.Ldexp(b, -66-shift), n)
}

func anySign(r *rand.Rand) float64 { return float64(1 - 2*r.IntN(2)) }
