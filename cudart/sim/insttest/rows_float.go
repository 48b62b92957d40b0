package insttest

import (
	"fmt"
	"math"
	"strings"
)

var modes = []Mode{"rn", "rz", "rm", "rp"}

func floatGroups() []Group {
	var single, double, newer, xorsign, three list
	for _, mode := range modes {
		single.addRounded("f32", Single, mode)
		double.addRounded("f64", Double, mode)
		newer.addPairs(mode)
		newer.addMixed(mode)
	}
	single.addUnary("f32", Single)
	double.addUnary("f64", Double)
	single.addExtrema("f32", "f32", Single, "", "ftz.", "NaN.", "ftz.NaN.")
	double.addExtrema("f64", "f64", Double, "")
	xorsign.addExtrema("f32", "f32", Single, "xorsign.abs.", "ftz.xorsign.abs.", "NaN.xorsign.abs.")
	three.addThree()
	return []Group{
		{"singles", sm80, single},
		{"doubles", sm80, double},
		{"xorsign", sm86, xorsign},
		{"pairs of singles and mixed precision", sm100, newer},
		{"three inputs", sm100, three},
	}
}

// modified applies .ftz, .sat and .relu.
func (f Format) modified(mods string, fn Func) Func {
	ftz, sat, relu := strings.Contains(mods, "ftz"), strings.Contains(mods, "sat"), strings.Contains(mods, "relu")
	return func(a, b, c uint64) uint64 {
		if ftz {
			a, b, c = f.flush(a&f.mask()), f.flush(b&f.mask()), f.flush(c&f.mask())
		}
		d := fn(a, b, c)
		if ftz {
			d = f.flush(d)
		}
		switch {
		case sat:
			d = f.saturate(d)
		case relu:
			d = f.relu(d)
		}
		return d
	}
}

func (l *list) addRounded(t string, f Format, mode Mode) {
	mods := []string{""}
	if t == "f32" {
		mods = []string{"", "ftz.", "sat.", "ftz.sat."}
	}
	for _, m := range mods {
		for _, op := range []string{"add", "sub", "mul"} {
			l.add(strings.Repeat(t+" ", 3), fmt.Sprintf("%s.%s.%s%s d, a, b;", op, mode, m, t),
				f.rounds(m, op, mode))
		}
		l.add(strings.Repeat(t+" ", 4), fmt.Sprintf("fma.%s.%s%s d, a, b, c;", mode, m, t),
			f.rounds(m, "fma", mode))
		if strings.Contains(m, "sat") {
			continue
		}
		l.add(strings.Repeat(t+" ", 3), fmt.Sprintf("div.%s.%s%s d, a, b;", mode, m, t), f.rounds(m, "div", mode))
		l.add(t+" "+t, fmt.Sprintf("rcp.%s.%s%s d, a;", mode, m, t), f.rounds(m, "rcp", mode))
		l.add(t+" "+t, fmt.Sprintf("sqrt.%s.%s%s d, a;", mode, m, t), f.rounds(m, "sqrt", mode))
	}
}

// rounds is an operation that rounds once, with .ftz and .sat.
func (f Format) rounds(mods, op string, mode Mode) Func {
	if strings.Contains(mods, "ftz") {
		return f.modified(mods, f.flushing(op, mode))
	}
	return f.modified(mods, f.arithmetic(op, mode))
}

// setSign is the result of abs and neg: x, but the usual NaN of arithmetic.
func (f Format) setSign(a, x uint64) uint64 {
	switch {
	case !f.isNaN(a):
		return x & f.mask()
	case f == Double:
		return a | 1<<51
	}
	return f.nan()
}

func (l *list) addUnary(t string, f Format) {
	for _, m := range []string{"", "ftz."} {
		if m != "" && t != "f32" {
			continue
		}
		l.add(t+" "+t, "abs."+m+t+" d, a;", f.modified(m, func(a, _, _ uint64) uint64 { return f.setSign(a, a&^f.sign()) }))
		l.add(t+" "+t, "neg."+m+t+" d, a;", f.modified(m, func(a, _, _ uint64) uint64 { return f.setSign(a, a^f.sign()) }))
	}
	l.add(strings.Repeat(t+" ", 3), "copysign."+t+" d, a, b;",
		func(a, b, _ uint64) uint64 { return a&f.sign() | b&^f.sign() })
	for property, holds := range map[string]func(v float64, x uint64) bool{
		"finite":     func(v float64, _ uint64) bool { return v-v == 0 },
		"infinite":   func(v float64, _ uint64) bool { return math.IsInf(v, 0) },
		"number":     func(v float64, _ uint64) bool { return v == v },
		"notanumber": func(v float64, _ uint64) bool { return v != v },
		"normal":     func(v float64, x uint64) bool { return v == 0 || v-v == 0 && f.flush(x) == x },
		"subnormal":  func(v float64, x uint64) bool { return v != 0 && f.flush(x) != x },
	} {
		l.add("b32 "+t, "testp."+property+"."+t+" p, a; selp.b32 d, 1, 0, p;", func(a, _, _ uint64) uint64 {
			return truth(holds(f.value(a), a), 1)
		})
	}
}

// extremum is min or max by the modifiers. A NaN loses unless .NaN is there, and -0 is below +0.
func (f Format) extremum(op, mods string) Func {
	return func(a, b, _ uint64) uint64 {
		a, b = a&f.mask(), b&f.mask()
		sign := (a ^ b) & f.sign()
		if strings.Contains(mods, "abs") {
			a, b = a&^f.sign(), b&^f.sign()
		}
		d := f.least(a, b, op == "max", strings.Contains(mods, "NaN"))
		if strings.Contains(mods, "xorsign") && !f.isNaN(d) {
			d |= sign
		}
		return d
	}
}

func (f Format) least(a, b uint64, greatest, nan bool) uint64 {
	x, y := f.value(a), f.value(b)
	switch {
	case x != x && y != y && f == Double:
		return b | 1<<51
	case x != x && y != y, nan && (x != x || y != y):
		return f.nan()
	case x != x:
		return b
	case y != y:
		return a
	case greatest:
		return f.encode(math.Max(x, y), "rn")
	}
	return f.encode(math.Min(x, y), "rn")
}

func (l *list) addExtrema(t, reg string, f Format, mods ...string) {
	for _, m := range mods {
		for _, op := range []string{"min", "max"} {
			l.add(strings.Repeat(reg+" ", 3), op+"."+m+t+" d, a, b;", f.modified(m, f.extremum(op, m)))
		}
	}
}

func (l *list) addThree() {
	for _, m := range []string{"", "ftz.", "NaN.", "abs.", "ftz.NaN.abs."} {
		for _, op := range []string{"min", "max"} {
			pick := Single.extremum(op, m)
			l.add("f32 f32 f32 f32", op+"."+m+"f32 d, a, b, c;", Single.modified(m, func(a, b, c uint64) uint64 {
				return pick(pick(a, b, 0), c, 0)
			}))
		}
	}
}

// addPairs adds instructions on .f32x2.
func (l *list) addPairs(mode Mode) {
	for _, m := range []string{"", "ftz."} {
		for op, operands := range map[string]string{"add": "a, b", "sub": "a, b", "mul": "a, b", "fma": "a, b, c"} {
			one := Single.rounds(m, op, mode)
			l.add(strings.Repeat("b64 ", 1+len(strings.Fields(operands))),
				fmt.Sprintf("%s.%s.%sf32x2 d, %s;", op, mode, m, operands), func(a, b, c uint64) uint64 {
					return one(a&0xffffffff, b&0xffffffff, c&0xffffffff) | one(a>>32, b>>32, c>>32)<<32
				})
		}
	}
}

// addMixed adds instructions on singles and 16-bit floats.
func (l *list) addMixed(mode Mode) {
	for t, f := range map[string]Format{"f16": Half, "bf16": BFloat} {
		widen := func(x uint64) uint64 { return Single.encode(f.value(x&0xffff), "rn") }
		for _, m := range []string{"", "sat."} {
			for _, op := range []string{"add", "sub"} {
				one := Single.rounds(m, op, mode)
				l.add("f32 b16 f32", fmt.Sprintf("%s.%s.%sf32.%s d, a, b;", op, mode, m, t),
					func(a, b, _ uint64) uint64 { return one(widen(a), b, 0) })
			}
			one := Single.rounds(m, "fma", mode)
			l.add("f32 b16 b16 f32", fmt.Sprintf("fma.%s.%sf32.%s d, a, b, c;", mode, m, t),
				func(a, b, c uint64) uint64 { return one(widen(a), widen(b), c) })
		}
	}
}
