package insttest

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

var convertTypes = []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}

// floatTypes are the formats by type, with the registers that hold them.
var floatTypes = map[string]struct {
	Format
	reg string
}{
	"f16": {Half, "b16"}, "bf16": {BFloat, "b16"}, "f32": {Single, "f32"}, "f64": {Double, "f64"},
}

func convertGroups() []Group {
	var integers, floats, bfloats, narrow, bytes, newer list
	for _, from := range convertTypes {
		for _, to := range convertTypes {
			integers.addIntegerConversion(to, from)
		}
		for _, t := range []string{"f16", "f32", "f64"} {
			integers.addMixedConversions(from, t)
		}
		bfloats.addMixedConversions(from, "bf16")
	}
	floats.addFloatConversions()
	floats.addIntegral()
	bfloats.addBFloatConversions()
	narrow.addNarrow("")
	newer.addNarrow("satfinite.")
	newer.addTF32("rn.", "rz.", "rn.relu.", "rz.relu.")
	narrow.addTF32("rna.")
	newer.addTF32("rna.satfinite.")
	narrow.addPacks()
	bytes.addBytes("e4m3x2", newTiny(4, 3, 0x7e))
	bytes.addBytes("e5m2x2", newTiny(5, 2, 0x7b))
	return []Group{
		{"integer conversions", sm80, integers},
		{"float conversions", sm80, floats},
		{"bfloat conversions", sm90, bfloats},
		{"narrow conversions", sm80, narrow},
		{"8-bit floats", sm89, bytes},
		{"newer conversions", sm90, newer},
	}
}

// registerOf is what holds an integer type: PTX computes with no fewer than 16 bits.
func registerOf(t string) string {
	if t[1:] == "8" {
		return "b32"
	}
	return "b" + t[1:]
}

func (l *list) addIntegerConversion(to, from string) {
	types := registerOf(to) + " " + registerOf(from)
	l.add(types, fmt.Sprintf("cvt.%s.%s d, a;", to, from), func(a, _, _ uint64) uint64 { return wrap(number(to, wrap(number(from, a)))) })
	if mayClip(to, from) { // otherwise PTX does not allow .sat
		l.add(types, fmt.Sprintf("cvt.sat.%s.%s d, a;", to, from), func(a, _, _ uint64) uint64 { return wrap(clamp(to, number(from, a))) })
	}
}

// mayClip reports whether the range of an integer type is not all of another's.
func mayClip(to, from string) bool {
	switch {
	case to[0] == from[0]:
		return Width(to) < Width(from)
	case to[0] == 's':
		return Width(to) <= Width(from)
	}
	return true
}

// addMixedConversions adds those between an integer type and a float.
func (l *list) addMixedConversions(t, float string) {
	f := floatTypes[float]
	if float == "bf16" && t[1:] == "8" {
		l.addByteConversions(t)
		return
	}
	for _, mode := range modes {
		l.add(registerOf(t)+" "+f.reg, fmt.Sprintf("cvt.%si.%s.%s d, a;", mode, t, float), func(a, _, _ uint64) uint64 { return toInteger(f.Format, a, t, mode) })
		l.add(f.reg+" "+registerOf(t), fmt.Sprintf("cvt.%s.%s.%s d, a;", mode, float, t), func(a, _, _ uint64) uint64 {
			n := number(t, a)
			if n.Sign() == 0 {
				return 0
			}
			return f.round(new(big.Float).SetPrec(200).SetInt(n), mode)
		})
	}
	if float == "f32" {
		l.add(registerOf(t)+" f32", fmt.Sprintf("cvt.rni.ftz.%s.f32 d, a;", t), func(a, _, _ uint64) uint64 { return toInteger(Single, Single.flush(a), t, "rn") })
	}
}

// addByteConversions adds those between 8 bits and bf16, which want registers of 8 bits.
func (l *list) addByteConversions(t string) {
	for _, mode := range modes {
		l.add("b16 b16", fmt.Sprintf("{ .reg .b8 x; cvt.%si.%s.bf16 x, a; mov.b16 d, {x, x}; }", mode, t), func(a, _, _ uint64) uint64 {
			n := toInteger(BFloat, a, t, mode) & 0xff
			return n<<8 | n
		})
		l.add("b16 b16", fmt.Sprintf("{ .reg .b8 x; mov.b16 {x, _}, a; cvt.%s.bf16.%s d, x; }", mode, t), func(a, _, _ uint64) uint64 {
			return BFloat.encode(float64(number(t, a).Int64()), mode)
		})
	}
}

// toInteger clamps. A NaN gives 0 unless 64 bits are on either side, where it gives the top bit.
func toInteger(f Format, a uint64, t string, mode Mode) uint64 {
	x := f.value(a)
	switch {
	case x != x && (f == Double || Width(t) == 64):
		return wrap(number(t, 1<<(Width(t)-1)))
	case x != x:
		return 0
	}
	n, _ := big.NewFloat(max(-1e30, min(1e30, integral(x, mode)))).Int(nil)
	return wrap(clamp(t, n))
}

func integral(x float64, mode Mode) float64 {
	return map[Mode]func(float64) float64{"rn": math.RoundToEven, "rz": math.Trunc, "rm": math.Floor, "rp": math.Ceil}[mode](x)
}

// convert converts between formats. A NaN keeps sign and payload where a double is on either side.
func convert(to, from Format, a uint64, mode Mode) uint64 {
	if a &= from.mask(); !from.isNaN(a) || to != Double && from != Double {
		return to.encode(from.value(a), mode)
	}
	payload := new(big.Int).Lsh(new(big.Int).SetUint64(a&(1<<from.Mantissa-1)), uint(to.Mantissa))
	return truth(a&from.sign() != 0, to.sign()) | to.infinity() | 1<<(to.Mantissa-1) | shifted(payload, from.Mantissa).Uint64()
}

func (l *list) addFloatConversions() {
	pair := func(to, from string, mods string, mode Mode) {
		t, f := floatTypes[to], floatTypes[from]
		ftz, sat := strings.Contains(mods, "ftz"), strings.Contains(mods, "sat")
		l.add(t.reg+" "+f.reg, fmt.Sprintf("cvt.%s%s.%s d, a;", mods, to, from), func(a, _, _ uint64) uint64 {
			if ftz && from == "f32" {
				a = Single.flush(a)
			}
			if Single.isNaN(a) && ftz && from == "f32" {
				a = Single.nan()
			}
			d := convert(t.Format, f.Format, a, mode)
			if mods == "" && to == from {
				d = a // even if it is a NaN
			}
			if ftz && to == "f32" {
				d = Single.flush(d)
			}
			if sat {
				d = t.saturate(d)
			}
			return d
		})
	}
	for _, mode := range modes {
		m := string(mode) + "."
		pair("f32", "f64", m, mode)
		pair("f32", "f64", m+"ftz.", mode)
		pair("f16", "f32", m, mode)
		pair("f16", "f64", m, mode)
	}
	for _, mods := range []string{"", "ftz.", "sat."} {
		pair("f64", "f32", mods, "rn")
		pair("f32", "f32", mods, "rn")
		pair("f32", "f16", mods, "rn")
	}
	pair("f64", "f16", "", "rn")
	pair("f32", "f64", "rn.sat.", "rn")
	pair("f16", "f32", "rn.sat.", "rn")
	pair("f16", "f32", "rn.ftz.", "rn")
}

// addIntegral adds the conversions to whole numbers of the same type.
func (l *list) addIntegral() {
	for _, mode := range modes {
		for t, f := range floatTypes {
			if t == "bf16" {
				continue
			}
			l.add(f.reg+" "+f.reg, fmt.Sprintf("cvt.%si.%s.%s d, a;", mode, t, t), func(a, _, _ uint64) uint64 {
				if f.isNaN(a) {
					return convert(f.Format, f.Format, a, "rn")
				}
				return f.encode(integral(f.value(a&f.mask()), mode), "rn")
			})
		}
	}
}

func (l *list) addBFloatConversions() {
	for _, mode := range modes {
		for _, from := range []string{"f16", "f64"} {
			f := floatTypes[from]
			l.add("b16 "+f.reg, fmt.Sprintf("cvt.%s.bf16.%s d, a;", mode, from), func(a, _, _ uint64) uint64 { return convert(BFloat, f.Format, a, mode) })
		}
		l.add("b16 b16", fmt.Sprintf("cvt.%s.f16.bf16 d, a;", mode), func(a, _, _ uint64) uint64 { return convert(Half, BFloat, a, mode) })
	}
	l.add("f32 b16", "cvt.f32.bf16 d, a;", func(a, _, _ uint64) uint64 { return a << 16 })
	l.add("f64 b16", "cvt.f64.bf16 d, a;", func(a, _, _ uint64) uint64 { return convert(Double, BFloat, a, "rn") })
}

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
		l.add("b32 b32 b32 b32", "cvt.pack.sat."+t+".s32.b32 d, a, b, c;", func(a, b, c uint64) uint64 { return c<<(2*n) | part(a)<<n | part(b) })
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
		l.add("b32 b16", "cvt.rn."+relu+"f16x2."+t+" d, a;", func(a, _, _ uint64) uint64 { return half(a>>8&0xff)<<16 | half(a&0xff) })
	}
}
