package exec

import "math/bits"

// The conversions between halves and singles, which reductions spend much of
// their time in.

func f16ToF32(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = widenF16(a[i] & 0xffff)
	}
}

func widenF16(h uint64) uint64 {
	e := h >> 10 & 0x1f
	if e-1 < 30 { // normal
		return h>>15<<31 | (e+112)<<23 | h&0x3ff<<13
	}
	return widenRareF16(h)
}

// widenRareF16 handles zeros, subnormals, infinities and NaNs.
func widenRareF16(h uint64) uint64 {
	sign, m := h>>15<<31, h&0x3ff
	switch {
	case h>>10&0x1f == 0x1f && m != 0:
		return nan32
	case h>>10&0x1f == 0x1f:
		return sign | 0x7f800000
	case m == 0:
		return sign
	}
	n := uint64(bits.Len64(m)) // the leading one has the value 2^(n-25)
	return sign | (n+102)<<23 | m<<(24-n)&(1<<23-1)
}

func bf16ToF32(d, a, _, _ *lanes) {
	for i := range d {
		x := a[i] & 0xffff << 16
		if x&0x7fffffff > 0x7f800000 {
			x = nan32
		}
		d[i] = x
	}
}

func singleF16(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = roundF16(a[i])
	}
}

func singleBF16(d, a, _, _ *lanes) {
	for at := 0; at < lanesBytes; at += quadBytes {
		x, z := quadAt(a, at), quadAt(d, at)
		z[0], z[1], z[2], z[3] = roundBF16(x[0]), roundBF16(x[1]), roundBF16(x[2]), roundBF16(x[3])
	}
}

func pairBF16(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = roundBF16(a[i])<<16 | roundBF16(b[i])
	}
}

func pairF16(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = roundF16(a[i])<<16 | roundF16(b[i])
	}
}

// roundBF16 rounds a single to nearest even. Adding just under half of the
// last place, and one more where it is odd, carries exactly when it should.
func roundBF16(a uint64) uint64 {
	a &= 0xffffffff
	if a&0x7fffffff > 0x7f800000 {
		return 0x7fff
	}
	return (a + 0x7fff + a>>16&1) >> 16
}

func roundF16(a uint64) uint64 {
	a &= 0xffffffff
	e := a >> 23 & 0xff
	if e-113 < 30 { // normal before rounding; a carry makes the right infinity
		m := a&0x7fffffff - 112<<23
		return a>>31<<15 | (m+0xfff+m>>13&1)>>13
	}
	return binary16.encode(float64(f32(a)), toNearestEven)
}
