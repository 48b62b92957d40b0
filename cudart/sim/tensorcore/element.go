package tensorcore

import "math"

// Format is a floating-point format of elements.
type Format uint8

// The formats.
const (
	Half     Format = iota // IEEE binary16
	BFloat16               // the upper half of an IEEE single
	TF32                   // the upper 19 bits of an IEEE single; the others are ignored
	E4M3                   // OFP8, without infinities
	E5M2                   // OFP8, the upper half of a Half
	E2M3                   // OCP MX, 6 bits without infinities and NaNs; two upper bits are ignored
	E3M2                   // likewise
	E2M1                   // OCP MX, 4 bits without infinities and NaNs; four upper bits are ignored
)

// bits is the width of an element in memory, where elements lie next to each other.
func (f Format) bits() int { return [...]int{16, 16, 32, 8, 8, 6, 6, 4}[f] }

// Element is a decoded operand.
type Element struct {
	value float64
	// exponent is that of the significand, of a subnormal number its format's least.
	exponent int32
}

// Exponents of what has none. They lie so far apart that a product of a zero is
// below any other, and one of an infinity or NaN above.
const (
	ofZero    = -1 << 12
	ofSpecial = 1 << 20
	special   = 1 << 19 // what exponents with a special operand exceed
)

// Decode returns the element with the given bits.
func (f Format) Decode(b uint32) Element {
	switch f {
	case BFloat16:
		return single(b << 16)
	case TF32:
		return single(b &^ 0x1fff)
	case E4M3:
		return allE4M3[uint8(b)]
	case E5M2:
		return half(uint16(b << 8))
	case E2M3:
		return allE2M3[b&63]
	case E3M2:
		return allE3M2[b&63]
	case E2M1:
		return allE2M1[b&15]
	}
	return half(uint16(b))
}

// half decodes the bits of an IEEE binary16 number.
func half(b uint16) Element {
	e, m := uint64(b>>10&31), uint64(b&1023)
	x := Element{math.Float64frombits((e+1008)<<52 | m<<42), int32(e) - 15}
	switch {
	case e == 31 && m != 0:
		x = Element{math.NaN(), ofSpecial}
	case e == 31:
		x = Element{math.Inf(1), ofSpecial}
	case e == 0 && m == 0:
		x = Element{0, ofZero}
	case e == 0:
		x = Element{float64(m) * 0x1p-24, -14}
	}
	if b>>15 != 0 {
		x.value = -x.value
	}
	return x
}

const leastOfE4M3 = -6

// allE4M3 is the decoded elements of E4M3 by their bits.
var allE4M3 = func() (all [256]Element) {
	for b := range all {
		e, m := b>>3&15, float64(b&7)
		x := Element{math.Ldexp(8+m, e-10), int32(e) - 7}
		switch {
		case e == 15 && m == 7:
			x = Element{math.NaN(), ofSpecial}
		case e == 0 && m == 0:
			x = Element{0, ofZero}
		case e == 0:
			x = Element{math.Ldexp(m, -9), leastOfE4M3}
		}
		if b>>7 != 0 {
			x.value = -x.value
		}
		all[b] = x
	}
	return all
}()

// leastExponent is that of fp32.
const leastExponent = -126

// single decodes the bits of an fp32 number.
func single(b uint32) Element {
	x := Element{float64(math.Float32frombits(b)), int32(b>>23&0xff) - 127}
	switch {
	case x.exponent == 128:
		x.exponent = ofSpecial
	case x.value == 0:
		x.exponent = ofZero
	case x.exponent == -127:
		x.exponent = leastExponent
	}
	return x
}

// Negated returns -x.
func (x Element) Negated() Element { return Element{-x.value, x.exponent} }

// Kinds reports whether all are zeros, and whether none is an infinity or not a number. Products of zeros with what is
// finite change no sum, but that they make +0 of -0, as a sum of no products does.
func Kinds(all []Element) (zero, finite bool) {
	most := int32(ofZero)
	for i := range all {
		most = max(most, all[i].exponent)
	}
	return most == ofZero, most < special
}
