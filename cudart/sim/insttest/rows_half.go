package insttest

import (
	"fmt"
	"strings"
)

func halfGroups() []Group {
	var half, bfloat, xorsign, newer list
	half.addHalf("f16", Half, "", "ftz.", "sat.", "ftz.sat.")
	half.addFused("f16", Half, "relu.", "ftz.relu.")
	half.addSigns("f16", Half, "", "ftz.")
	half.addHalfExtrema("f16", Half, "", "ftz.", "NaN.", "ftz.NaN.")
	bfloat.addFused("bf16", BFloat, "", "relu.")
	bfloat.addSigns("bf16", BFloat, "")
	bfloat.addHalfExtrema("bf16", BFloat, "", "NaN.")
	xorsign.addHalfExtrema("f16", Half, "xorsign.abs.", "ftz.xorsign.abs.", "NaN.xorsign.abs.")
	xorsign.addHalfExtrema("bf16", BFloat, "xorsign.abs.", "NaN.xorsign.abs.")
	newer.addHalf("bf16", BFloat, "")
	newer.addFused("f16", Half, "oob.", "oob.relu.")
	newer.addFused("bf16", BFloat, "oob.", "oob.relu.")
	return []Group{
		{"halves", sm80, half},
		{"bfloats", sm80, bfloat},
		{"xorsign of halves", sm86, xorsign},
		{"newer halves", sm90, newer},
	}
}

// both adds an instruction on one value, and on a pair. The text has %s for the type.
func (l *list) both(t string, sources int, text string, one Func) {
	operands := strings.Join([]string{"a", "b", "c"}[:sources], ", ")
	l.add(strings.Repeat("b16 ", 1+sources), fmt.Sprintf("%s%s d, %s;", text, t, operands), func(a, b, c uint64) uint64 {
		return one(a&0xffff, b&0xffff, c&0xffff)
	})
	l.add(strings.Repeat("b32 ", 1+sources), fmt.Sprintf("%s%sx2 d, %s;", text, t, operands), pairs(one))
}

func (l *list) addHalf(t string, f Format, mods ...string) {
	for _, m := range mods {
		for _, op := range []string{"add", "sub", "mul"} {
			l.both(t, 2, op+"."+m, f.modified(m, f.arithmetic(op, "rn")))
			l.both(t, 2, op+".rn."+m, f.modified(m, f.arithmetic(op, "rn")))
		}
		l.addFused(t, f, m)
	}
}

// outOfBounds is the NaN that tensor copies write outside of a tensor, of either sign.
const outOfBounds = 0x7ff7

func (l *list) addFused(t string, f Format, mods ...string) {
	for _, m := range mods {
		fused := f.modified(m, f.arithmetic("fma", "rn"))
		l.both(t, 3, "fma.rn."+m, func(a, b, c uint64) uint64 {
			if strings.Contains(m, "oob") && (a&0x7fff == outOfBounds || b&0x7fff == outOfBounds) {
				return 0
			}
			return fused(a, b, c)
		})
	}
}

func (l *list) addSigns(t string, f Format, mods ...string) {
	for _, m := range mods {
		l.both(t, 1, "neg."+m, f.modified(m, func(a, _, _ uint64) uint64 { return f.setSign(a, a^f.sign()) }))
		l.both(t, 1, "abs."+m, f.modified(m, func(a, _, _ uint64) uint64 { return f.setSign(a, a&^f.sign()) }))
	}
}

func (l *list) addHalfExtrema(t string, f Format, mods ...string) {
	for _, m := range mods {
		for _, op := range []string{"min", "max"} {
			l.both(t, 2, op+"."+m, f.modified(m, f.extremum(op, m)))
		}
	}
}
