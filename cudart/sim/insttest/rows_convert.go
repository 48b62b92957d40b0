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
	var integers, floats, bfloats, narrow, bytes, newer, tiny list
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
	tiny.addFewBits("e2m1x2", newTiny(2, 1, 7), 4, 4)
	tiny.addFewBits("e2m3x2", newTiny(2, 3, 31), 6, 8)
	tiny.addFewBits("e3m2x2", newTiny(3, 2, 31), 6, 8)
	tiny.addScales()
	bytes.addBytes("e4m3x2", newTiny(4, 3, 0x7e))
	bytes.addBytes("e5m2x2", newTiny(5, 2, 0x7b))
	return []Group{
		{"integer conversions", sm80, integers},
		{"float conversions", sm80, floats},
		{"bfloat conversions", sm90, bfloats},
		{"narrow conversions", sm80, narrow},
		{"8-bit floats", sm89, bytes},
		{"newer conversions", sm90, newer},
		{"floats of 4 and 6 bits", sm100a, tiny},
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
	l.add(types, fmt.Sprintf("cvt.%s.%s d, a;", to, from),
		func(a, _, _ uint64) uint64 { return wrap(number(to, wrap(number(from, a)))) })
	if mayClip(to, from) { // otherwise PTX does not allow .sat
		l.add(types, fmt.Sprintf("cvt.sat.%s.%s d, a;", to, from),
			func(a, _, _ uint64) uint64 { return wrap(clamp(to, number(from, a))) })
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
		l.add(registerOf(t)+" "+f.reg, fmt.Sprintf("cvt.%si.%s.%s d, a;", mode, t, float),
			func(a, _, _ uint64) uint64 { return toInteger(f.Format, a, t, mode) })
		l.add(f.reg+" "+registerOf(t), fmt.Sprintf("cvt.%s.%s.%s d, a;", mode, float, t), func(a, _, _ uint64) uint64 {
			n := number(t, a)
			if n.Sign() == 0 {
				return 0
			}
			return f.round(new(big.Float).SetPrec(200).SetInt(n), mode)
		})
	}
	if float == "f32" {
		l.add(registerOf(t)+" f32", fmt.Sprintf("cvt.rni.ftz.%s.f32 d, a;", t),
			func(a, _, _ uint64) uint64 { return toInteger(Single, Single.flush(a), t, "rn") })
	}
}

// addByteConversions adds those between 8 bits and bf16, which want registers of 8 bits.
func (l *list) addByteConversions(t string) {
	for _, mode := range modes {
		l.add("b16 b16", fmt.Sprintf("{ .reg .b8 x; cvt.%si.%s.bf16 x, a; mov.b16 d, {x, x}; }", mode, t),
			func(a, _, _ uint64) uint64 {
				n := toInteger(BFloat, a, t, mode) & 0xff
				return n<<8 | n
			})
		l.add("b16 b16", fmt.Sprintf("{ .reg .b8 x; mov.b16 {x, _}, a; cvt.%s.bf16.%s d, x; }", mode, t),
			func(a, _, _ uint64) uint64 {
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
	round := map[Mode]func(float64) float64{
		"rn": math.RoundToEven, "rz": math.Trunc, "rm": math.Floor, "rp": math.Ceil,
	}[mode]
	return round(x)
}

// convert converts between formats. A NaN keeps sign and payload where a double is on either side.
func convert(to, from Format, a uint64, mode Mode) uint64 {
	if a &= from.mask(); !from.isNaN(a) || to != Double && from != Double {
		return to.encode(from.value(a), mode)
	}
	payload := new(big.Int).Lsh(new(big.Int).SetUint64(a&(1<<from.Mantissa-1)), uint(to.Mantissa))
	return truth(a&from.sign() != 0, to.sign()) | to.infinity() | 1<<(to.Mantissa-1) | shifted(payload,
		from.Mantissa).Uint64()
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
				if x := f.value(a & f.mask()); from == "f64" && x != 0 && x-x == 0 {
					d = Single.roundFlushed(big.NewFloat(x), mode)
				}
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
			l.add("b16 "+f.reg, fmt.Sprintf("cvt.%s.bf16.%s d, a;", mode, from),
				func(a, _, _ uint64) uint64 { return convert(BFloat, f.Format, a, mode) })
		}
		l.add("b16 b16", fmt.Sprintf("cvt.%s.f16.bf16 d, a;", mode),
			func(a, _, _ uint64) uint64 { return convert(Half, BFloat, a, mode) })
	}
	l.add("f32 b16", "cvt.f32.bf16 d, a;", func(a, _, _ uint64) uint64 { return a << 16 })
	l.add("f64 b16", "cvt.f64.bf16 d, a;", func(a, _, _ uint64) uint64 { return convert(Double, BFloat, a, "rn") })
}
