package tensorcore

import "math"

// The decoded elements of the formats of fewer than 8 bits, by their bits (OCP Microscaling Formats 1.0).
var (
	allE2M3 = decodeSmall[[64]Element](2, 3)
	allE3M2 = decodeSmall[[64]Element](3, 2)
	allE2M1 = decodeSmall[[16]Element](2, 1)
)

// decodeSmall decodes all numbers of a format that has neither infinities nor NaNs.
func decodeSmall[T [16]Element | [64]Element](exponentBits, mantissaBits int) (all T) {
	bias := 1<<(exponentBits-1) - 1
	for b := range len(all) {
		e, m := b>>mantissaBits&(1<<exponentBits-1), b&(1<<mantissaBits-1)
		x := Element{exponent: int32(max(e, 1) - bias)}
		if e > 0 {
			m += 1 << mantissaBits
		}
		if x.value = math.Ldexp(float64(m), int(x.exponent)-mantissaBits); m == 0 {
			x.exponent = ofZero
		}
		if b>>(exponentBits+mantissaBits) != 0 {
			x.value = -x.value
		}
		all[b] = x
	}
	return all
}

// Value is the number, which may be infinite or NaN.
func (x Element) Value() float64 { return x.value }

// Scaled is x multiplied by a scale factor, whose exponent is added to that of x.
func (x Element) Scaled(by Element) Element {
	if x.exponent >= special || by.exponent >= special {
		return Element{x.value * by.value, ofSpecial}
	}
	return Element{x.value * by.value, max(ofZero, x.exponent+by.exponent)}
}

// ScaleE8M0 is the scale factor that 8 bits of UE8M0 are: a power of two, or NaN.
func ScaleE8M0(b uint8) Element {
	if b == 255 {
		return Element{math.NaN(), ofSpecial}
	}
	return Element{math.Ldexp(1, int(b)-127), int32(b) - 127}
}

// ScaleE4M3 is the scale factor that 8 bits of UE4M3 are. The sign bit is ignored.
func ScaleE4M3(b uint8) Element { return allE4M3[b&0x7f] }
