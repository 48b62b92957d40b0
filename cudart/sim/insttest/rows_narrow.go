package insttest

import (
	"fmt"
	"math"
	"strings"
)

// addNarrow adds the conversions of singles, and of pairs of them, to 16 bits.
func (l *list) addNarrow(satfinite string) {
	for t, f := range map[string]Format{"f16": Half, "bf16": BFloat} {
		for _, mode := range []Mode{"rn", "rz"} {
			for _, relu := range []string{"", "relu."} {
				one := func(a uint64) uint64 {
					d := convert(f, Single, a, mode)
					if relu != "" {
						d = f.relu(d)
					}
					if satfinite != "" && d&^f.sign() == f.infinity() {
						d--
					}
					return d
				}
				mods := fmt.Sprintf("cvt.%s.%s%s", mode, relu, satfinite)
				l.add("b16 f32", mods+t+".f32 d, a;", func(a, _, _ uint64) uint64 { return one(a) })
				l.add("b32 f32 f32", mods+t+"x2.f32 d, a, b;", func(a, b, _ uint64) uint64 { return one(a)<<16 | one(b) })
			}
		}
	}
}

// addTF32 adds conversions to 19 bits. .rna cuts off NaNs.
func (l *list) addTF32(mods ...string) {
	for _, m := range mods {
		mode, _, _ := strings.Cut(m, ".")
		relu, satfinite := strings.Contains(m, "relu"), strings.Contains(m, "satfinite")
		text := "cvt." + m + "tf32.f32 d, a;"
		if satfinite { // a GPU's NaNs are not what the ISA says
			text = "testp.notanumber.f32 p, a; @p mov.f32 a, 0f3F800000; " + text
		}
		l.add("b32 f32", text, func(a, _, _ uint64) uint64 {
			switch {
			case Single.isNaN(a) && satfinite:
				return 0x3f800000
			case Single.isNaN(a) && mode == "rna":
				return a &^ 0x1fff
			}
			d := convert(TF32, Single, a, Mode(mode))
			if relu {
				d = TF32.relu(d)
			}
			if satfinite && d&^TF32.sign() == TF32.infinity() {
				d--
			}
			return d << 13
		})
	}
}

func (l *list) addPacks() {
	for _, t := range []string{"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"} {
		n := Width(t)
		part := func(a uint64) uint64 { return wrap(clamp(t, number("s32", a))) & Mask(t) }
		if n == 16 {
			l.add("b32 b32 b32", "cvt.pack.sat."+t+".s32 d, a, b;", func(a, b, _ uint64) uint64 { return part(a)<<16 | part(b) })
			continue
		}
		l.add("b32 b32 b32 b32", "cvt.pack.sat."+t+".s32.b32 d, a, b, c;",
			func(a, b, c uint64) uint64 { return c<<(2*n) | part(a)<<n | part(b) })
	}
}

// tiny is a format of 8 bits, as the values of its codes without the sign.
type tiny struct {
	values  []float64 // up to the largest
	largest uint64
}

func newTiny(exponent, mantissa int, largest uint64) tiny {
	f := tiny{largest: largest}
	bias := 1<<(exponent-1) - 1
	for code := range int(largest) + 1 {
		e, m := max(code>>mantissa, 1), code&(1<<mantissa-1)
		if code>>mantissa > 0 {
			m += 1 << mantissa
		}
		f.values = append(f.values, math.Ldexp(float64(m), e-bias-mantissa))
	}
	return f
}

// encode finds the nearest code; of two the even one.
func (f tiny) encode(x float64, relu bool) uint64 {
	sign := truth(math.Signbit(x), 0x80)
	switch {
	case x != x:
		return 0x7f
	case relu && sign != 0:
		return 0
	}
	best := uint64(0)
	for code, v := range f.values {
		was, is := math.Abs(math.Abs(x)-f.values[best]), math.Abs(math.Abs(x)-v)
		if is < was || is == was && code%2 == 0 {
			best = uint64(code)
		}
	}
	if math.Abs(x) > f.values[f.largest] {
		best = f.largest
	}
	return sign | best
}

// half widens a code.
func (f tiny) half(code uint64) uint64 {
	x := code & 0x7f
	switch {
	case x > f.largest+1 || x > f.largest && f.largest == 0x7e:
		return Half.nan()
	case x > f.largest:
		return Half.infinity() | code&0x80<<8
	}
	return Half.encode(math.Copysign(f.values[x], 1-float64(code&0x80)), "rn")
}

func (l *list) addBytes(t string, f tiny) {
	for _, relu := range []string{"", "relu."} {
		one := func(x float64) uint64 { return f.encode(x, relu != "") }
		half := func(code uint64) uint64 {
			if relu != "" {
				return Half.relu(f.half(code))
			}
			return f.half(code)
		}
		l.add("b16 f32 f32", "cvt.rn.satfinite."+relu+t+".f32 d, a, b;", func(a, b, _ uint64) uint64 {
			return one(Single.value(a))<<8 | one(Single.value(b))
		})
		l.add("b16 b32", "cvt.rn.satfinite."+relu+t+".f16x2 d, a;", func(a, _, _ uint64) uint64 {
			return one(Half.value(a>>16&0xffff))<<8 | one(Half.value(a&0xffff))
		})
		l.add("b32 b16", "cvt.rn."+relu+"f16x2."+t+" d, a;",
			func(a, _, _ uint64) uint64 { return half(a>>8&0xff)<<16 | half(a&0xff) })
	}
}

// addFewBits adds conversions of a pair of floats with so many bits, one packed above the other. These formats have
// no NaN: the largest number takes its place.
func (l *list) addFewBits(t string, f tiny, bits, packed int) {
	for _, relu := range []string{"", "relu."} {
		code := func(a uint64) uint64 {
			x := f.encode(nanTo(Single.value(a), math.Inf(1)), relu != "")
			return truth(x&0x80 != 0, 1<<(bits-1)) | x&0x7f
		}
		value := func(x uint64) uint64 {
			h := Half.encode(math.Copysign(f.values[x&(1<<(bits-1)-1)], 1-2*float64(x>>(bits-1)&1)), "rn")
			if relu != "" {
				h = Half.relu(h)
			}
			return h
		}
		to, from := "cvt.rn.satfinite."+relu+t+".f32", "cvt.rn."+relu+"f16x2."+t
		narrow, widen := to+" d, a, b;", from+" d, a;"
		both := func(x uint64) uint64 { return x }
		if packed == 4 { // in a register of 8 bits
			narrow = "{ .reg .b8 x; " + to + " x, a, b; mov.b16 d, {x, x}; }"
			widen = "{ .reg .b8 x; mov.b16 {x, _}, a; " + from + " d, x; }"
			both = func(x uint64) uint64 { return x<<8 | x }
		}
		l.add("b16 f32 f32", narrow, func(a, b, _ uint64) uint64 { return both(code(a)<<packed | code(b)) })
		mask := uint64(1)<<bits - 1
		l.add("b32 b16", widen, func(a, _, _ uint64) uint64 { return value(a>>packed&mask)<<16 | value(a&mask) })
	}
}

// addScales adds the conversions of powers of two from 2^-127 to 2^127, which have no sign.
func (l *list) addScales() {
	for _, mode := range []string{"rz", "rp"} {
		code := func(a uint64) uint64 {
			x := math.Abs(Single.value(a))
			switch {
			case x != x:
				return 255
			case math.IsInf(x, 0):
				return 254
			case x == 0:
				return 0
			}
			fraction, exponent := math.Frexp(x)
			if exponent--; mode == "rp" && fraction != 0.5 {
				exponent++
			}
			return uint64(min(max(exponent, -127), 127) + 127)
		}
		to := "cvt." + mode + ".satfinite.ue8m0x2."
		l.add("b16 f32 f32", to+"f32 d, a, b;", func(a, b, _ uint64) uint64 { return code(a)<<8 | code(b) })
		l.add("b16 b32", to+"bf16x2 d, a;", func(a, _, _ uint64) uint64 {
			return code(a&^0xffff)<<8 | code(a<<16&0xffffffff)
		})
	}
	value := func(code uint64) uint64 {
		if code == 255 {
			return 0x7fff
		}
		return BFloat.encode(math.Ldexp(1, int(code)-127), "rn")
	}
	l.add("b32 b16", "cvt.rn.bf16x2.ue8m0x2 d, a;", func(a, _, _ uint64) uint64 {
		return value(a>>8&0xff)<<16 | value(a&0xff)
	})
}
