package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// floatToInt clamps to the destination's range.
func (cv conversion) floatToInt(a uint64) uint64 {
	from := formatOf(cv.from)
	if a &= widthMask(cv.from.Bits); cv.ftz && from == binary32 {
		a = from.flush(a)
	}
	if from.isNaN(a) {
		return cv.nanToInt()
	}
	x := roundIntegral(from.decode(a), cv.mode)
	if cv.to.Class == ptx.Signed {
		limit := math.Ldexp(1, cv.to.Bits-1)
		switch {
		case x >= limit:
			return 1<<(cv.to.Bits-1) - 1
		case x < -limit:
			return ^uint64(1<<(cv.to.Bits-1) - 1)
		}
		return uint64(int64(x))
	}
	switch {
	case x <= 0:
		return 0
	case x >= math.Ldexp(1, cv.to.Bits):
		return widthMask(cv.to.Bits)
	}
	return uint64(x)
}

// nanToInt is 0, as the PTX manual says, only where 64 bits are on neither
// side; where they are, GPUs return the top bit alone.
func (cv conversion) nanToInt() uint64 {
	if cv.from.Bits < 64 && cv.to.Bits < 64 {
		return 0
	}
	return extend(1<<(cv.to.Bits-1), cv.to)
}

func (cv conversion) intToFloat(a uint64) uint64 {
	to := formatOf(cv.to)
	x, negative := extend(a, cv.from), false
	if cv.from.Class == ptx.Signed && int64(x) < 0 {
		x, negative = -x, true
	}
	// The leading ones of a 64-bit integer leave pack no room for more digits,
	// and it needs none: the value is exact.
	out := to.pack(negative, x, 0, cv.mode)
	if cv.sat {
		out = to.saturate(out)
	}
	return out
}

func (cv conversion) intToInt(a uint64) uint64 {
	x := extend(a, cv.from)
	if cv.sat {
		return cv.clamp(x)
	}
	return extend(x, cv.to)
}

// clamp limits a 64-bit integer of the source's signedness to the range of the
// destination.
func (cv conversion) clamp(x uint64) uint64 {
	negative := cv.from.Class == ptx.Signed && int64(x) < 0
	if cv.to.Class == ptx.Signed {
		limit := uint64(1)<<(cv.to.Bits-1) - 1
		switch {
		case negative:
			return uint64(max(int64(x), int64(^limit)))
		case x > limit:
			return limit
		}
		return x
	}
	if negative {
		return 0
	}
	return min(x, widthMask(cv.to.Bits))
}

// extend widens the low bits of a to 64 by the rules of type t.
func extend(a uint64, t ptx.Type) uint64 {
	shift := 64 - t.Bits
	if t.Class == ptx.Signed {
		return uint64(int64(a<<shift) >> shift)
	}
	return a << shift >> shift
}
