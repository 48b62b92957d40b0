package approx

import "math"

// The unit computes ex2 and tanh of 16-bit floats as those of singles, and truncates the results to the
// format.

// Half finds the instruction on .f16, or nil where PTX has none.
func Half(op string) func(a uint16) uint16 {
	compute := ofHalves(op)
	if compute == nil {
		return nil
	}
	return func(a uint16) uint16 { return halfOf(compute(singleOf(a))) }
}

// BFloat16 finds the instruction on .bf16, or nil where PTX has none. Its ex2 has .ftz.
func BFloat16(op string) func(a uint16) uint16 {
	compute := ofHalves(op)
	if compute == nil {
		return nil
	}
	return func(a uint16) uint16 { return uint16(compute(uint32(a)<<16) >> 16) }
}

// ofHalves finds the operation of the unit.
func ofHalves(op string) func(a uint32) uint32 {
	switch op {
	case "ex2":
		return ex2
	case "tanh":
		return tanh
	}
	return nil
}

// Fields of a half.
const (
	halfMantissaBits = 10
	halfMantissaMask = 1<<halfMantissaBits - 1
	halfInfinity     = 0x1f << halfMantissaBits
	halfBias         = 15
	// shorter is the number of bits by which its mantissa is shorter than a single's.
	shorter = mantissaBits - halfMantissaBits
)

// singleOf is a half as a single.
func singleOf(a uint16) uint32 {
	sign, exponent, mantissa := uint32(a>>15)<<31, uint32(a>>halfMantissaBits&0x1f), uint32(a&halfMantissaMask)
	switch exponent {
	case 0:
		return sign | math.Float32bits(float32(mantissa)*0x1p-24)
	case 0x1f:
		return sign | infinity | mantissa<<shorter
	}
	return sign | (exponent+bias-halfBias)<<mantissaBits | mantissa<<shorter
}

// halfOf is a single truncated to a half, which may be subnormal. It is infinite from 2^16 on.
func halfOf(a uint32) uint16 {
	sign, exponent := uint16(a>>31)<<15, exponentOf(a)+halfBias
	switch {
	case classify(a) == notANumber:
		return nan >> 16
	case exponent >= 0x1f:
		return sign | halfInfinity
	case exponent <= 0:
		return sign | uint16((a&mantissaMask|1<<mantissaBits)>>(shorter+1-exponent))
	}
	return sign | uint16(exponent)<<halfMantissaBits | uint16(a&mantissaMask>>shorter)
}
