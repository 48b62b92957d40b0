package approx

import "math"

// Instruction is an approximation of one single.
type Instruction struct {
	Op      string
	FTZ     bool
	Compute func(a uint32) uint32
}

// Instructions are those of PTX on .f32.
var Instructions = []Instruction{
	{"rcp", true, rcp},
	{"rcp", false, scaledRcp},
	{"rsqrt", true, rsqrt},
	{"rsqrt", false, scaledRsqrt},
	{"sqrt", true, sqrt},
	{"sqrt", false, scaledSqrt},
	{"ex2", true, ex2},
	{"ex2", false, scaledEx2},
	{"lg2", true, lg2},
	{"lg2", false, scaledLg2},
	{"sin", true, sin},
	{"sin", false, sin},
	{"cos", true, cos},
	{"cos", false, cos},
	{"tanh", false, tanh},
}

// Named is the instruction, or nil where PTX has none.
func Named(op string, ftz bool) func(a uint32) uint32 {
	for _, in := range Instructions {
		if in.Op == op && in.FTZ == ftz {
			return in.Compute
		}
	}
	return nil
}

// String is the instruction in PTX.
func (in Instruction) String() string {
	if in.FTZ {
		return in.Op + ".approx.ftz.f32"
	}
	return in.Op + ".approx.f32"
}

// The unit takes subnormal operands as 0 and returns 0 in place of subnormal results. Without .ftz the
// compiler of the driver scales them by powers of two, around the same operation of the unit.

// Powers of two as singles.
const (
	twoTo24      = (bias + 24) << mantissaBits
	twoTo12      = (bias + 12) << mantissaBits
	twoToMinus12 = (bias - 12) << mantissaBits
	half         = (bias - 1) << mantissaBits
	quarter      = (bias - 2) << mantissaBits
	twoTo126     = (bias + 126) << mantissaBits
)

// huge says whether the reciprocal of a is subnormal.
func huge(a uint32) bool {
	magnitude := a &^ uint32(signBit)
	return magnitude > twoTo126 && magnitude < infinity
}

func scaledRcp(a uint32) uint32 {
	switch {
	case subnormal(a):
		return times(rcp(times(a, twoTo24)), twoTo24)
	case huge(a):
		return times(rcp(times(a, quarter)), quarter)
	}
	return rcp(a)
}

func scaledRsqrt(a uint32) uint32 {
	if subnormal(a) {
		return times(rsqrt(times(a, twoTo24)), twoTo12)
	}
	return rsqrt(a)
}

func scaledSqrt(a uint32) uint32 {
	if subnormal(a) {
		return times(sqrt(times(a, twoTo24)), twoToMinus12)
	}
	return sqrt(a)
}

func scaledLg2(a uint32) uint32 {
	d := lg2(a)
	if subnormal(a) {
		if d = lg2(times(a, twoTo24)); classify(d) == number {
			return math.Float32bits(math.Float32frombits(d) - 24)
		}
	}
	return d
}

func scaledEx2(a uint32) uint32 {
	const lowest = signBit | 0x42fc0000 // -126, the lowest operand with a normal result
	if a > lowest && a <= signBit|infinity {
		root := ex2(times(a, half))
		return times(root, root)
	}
	return ex2(a)
}
