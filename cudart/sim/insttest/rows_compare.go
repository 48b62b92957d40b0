package insttest

import (
	"fmt"
	"math/big"
	"strings"
)

// comparisons tell whether the sign of a difference will do; floats have more, which are true for
// NaNs as well.
var comparisons = map[string]func(sign int) bool{
	"eq": func(s int) bool { return s == 0 }, "ne": func(s int) bool { return s != 0 },
	"lt": func(s int) bool { return s < 0 }, "le": func(s int) bool { return s <= 0 },
	"gt": func(s int) bool { return s > 0 }, "ge": func(s int) bool { return s >= 0 },
}

var unsignedNames = map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}

// predicate compares a with b.
type predicate func(a, b uint64) bool

// floatComparisons are all comparisons of a format.
func floatComparisons(f Format, ftz bool) map[string]predicate {
	value := func(x uint64) float64 {
		if x &= f.mask(); ftz {
			x = f.flush(x)
		}
		return f.value(x)
	}
	all := map[string]predicate{
		"num": func(a, b uint64) bool { return !f.isNaN(a) && !f.isNaN(b) },
		"nan": func(a, b uint64) bool { return f.isNaN(a) || f.isNaN(b) },
	}
	for name, holds := range comparisons {
		compare := func(a, b uint64, unordered bool) bool {
			x, y := value(a), value(b)
			if x != x || y != y {
				return unordered
			}
			return holds(big.NewFloat(x).Cmp(big.NewFloat(y)))
		}
		all[name] = func(a, b uint64) bool { return compare(a, b, false) }
		all[name+"u"] = func(a, b uint64) bool { return compare(a, b, true) }
	}
	return all
}

func integerComparisons(t string) map[string]predicate {
	all := map[string]predicate{}
	for name, holds := range comparisons {
		if t[0] != 'b' || name == "eq" || name == "ne" {
			all[name] = func(a, b uint64) bool { return holds(number(t, a).Cmp(number(t, b))) }
		}
	}
	if t[0] == 'u' {
		for name, same := range unsignedNames {
			all[name] = all[same]
		}
	}
	return all
}

func compareGroups() []Group {
	var l, halves, bfloats list
	for _, t := range append(integerTypes, "b16", "b32", "b64") {
		l.addComparisons("b"+t[1:], t, "", integerComparisons(t))
	}
	for _, m := range []string{"", "ftz."} {
		l.addComparisons("f32", "f32", m, floatComparisons(Single, m != ""))
		halves.addComparisons("b16", "f16", m, floatComparisons(Half, m != ""))
		halves.addPairComparisons("f16", m, floatComparisons(Half, m != ""))
	}
	l.addComparisons("f64", "f64", "", floatComparisons(Double, false))
	bfloats.addComparisons("b16", "bf16", "", floatComparisons(BFloat, false))
	bfloats.addPairComparisons("bf16", "", floatComparisons(BFloat, false))
	l.addSelections()
	return []Group{
		{"comparisons", sm80, l}, {"comparisons of halves", sm80, halves}, {"comparisons of bfloats", sm90, bfloats},
	}
}

// combinations are the Boolean operators with a predicate that is c&1, negated or not.
var combinations = map[string]func(x, y bool) bool{
	"and.": func(x, y bool) bool { return x && y }, "or.": func(x, y bool) bool { return x || y },
	"xor.": func(x, y bool) bool { return x != y },
}

const (
	isOdd   = "{ .reg .b32 bit; and.b32 bit, c, 1; setp.ne.u32 q, bit, 0; } "
	select1 = " selp.b32 d, 1, 0, p;"
)

func (l *list) addComparisons(reg, t, m string, all map[string]predicate) {
	for name, holds := range all {
		two := "b32 " + reg + " " + reg
		l.add(two, fmt.Sprintf("setp.%s.%s%s p, a, b;%s", name, m, t, select1),
			func(a, b, _ uint64) uint64 { return truth(holds(a, b), 1) })
		for _, to := range []string{"u32", "s32", "f32"} {
			if to == "f32" && strings.HasSuffix(t, "f16") {
				continue
			}
			yes := truth(to == "f32", 0x3f800000) | truth(to != "f32", 0xffffffff)
			l.add(two, fmt.Sprintf("set.%s.%s%s.%s d, a, b;", name, m, to, t),
				func(a, b, _ uint64) uint64 { return truth(holds(a, b), yes) })
		}
		if name != "lt" && name != "ne" {
			continue
		}
		if t != "bf16" {
			l.add("b16 "+reg+" "+reg, fmt.Sprintf("set.%s.%sf16.%s d, a, b;", name, m, t),
				func(a, b, _ uint64) uint64 { return truth(holds(a, b), 0x3c00) })
		}
		if t != "f16" && t != "bf16" {
			l.add(two, fmt.Sprintf("setp.%s.%s%s p|q, a, b; selp.b32 d, 1, 2, q;", name, m, t),
				func(a, b, _ uint64) uint64 { return 1 + truth(holds(a, b), 1) })
		}
		for op, combine := range combinations {
			l.add(two+" b32", fmt.Sprintf("%ssetp.%s.%s%s%s p, a, b, q;%s", isOdd, name, op, m, t, select1),
				func(a, b, c uint64) uint64 {
					return truth(combine(holds(a, b), c&1 != 0), 1)
				})
			l.add(two+" b32", fmt.Sprintf("%sset.%s.%s%su32.%s d, a, b, !q;", isOdd, name, op, m, t),
				func(a, b, c uint64) uint64 {
					return truth(combine(holds(a, b), c&1 == 0), 0xffffffff)
				})
		}
	}
}

// addPairComparisons adds comparisons of pairs: p is for the lower halves, q for the upper ones.
func (l *list) addPairComparisons(t, m string, all map[string]predicate) {
	one := map[string]uint64{"f16": 0x3c00, "bf16": 0x3f80}[t]
	for name, holds := range all {
		each := func(yes uint64) Func {
			return pairs(func(a, b, _ uint64) uint64 { return truth(holds(a, b), yes) })
		}
		two := "b32 b32 b32"
		l.add(two, fmt.Sprintf("{ .reg .b32 x; setp.%s.%s%sx2 p|q, a, b; selp.b32 d, 1, 0, p; selp.b32 x, 65536, 0, q; "+
			"or.b32 d, d, x; }", name, m, t), each(1))
		l.add(two, fmt.Sprintf("set.%s.%s%sx2.%sx2 d, a, b;", name, m, t, t), each(one))
		l.add(two, fmt.Sprintf("set.%s.%su32.%sx2 d, a, b;", name, m, t), each(0xffff))
		l.add("b16 b16 b16", fmt.Sprintf("set.%s.%s%s.%s d, a, b;", name, m, t, t),
			func(a, b, _ uint64) uint64 { return truth(holds(a&0xffff, b&0xffff), one) })
		l.add("b16 b16 b16", fmt.Sprintf("set.%s.%su16.%s d, a, b;", name, m, t),
			func(a, b, _ uint64) uint64 { return truth(holds(a&0xffff, b&0xffff), 0xffff) })
	}
}

func (l *list) addSelections() {
	for _, reg := range []string{"b16", "b32", "b64", "f32", "f64"} {
		three := strings.Repeat(reg+" ", 3)
		l.add(three+"b32", isOdd+"selp."+reg+" d, a, b, q;",
			func(a, b, c uint64) uint64 { return truth(c&1 != 0, a) | truth(c&1 == 0, b) })
		l.add(three+"b32", "slct."+reg+".s32 d, a, b, c;",
			func(a, b, c uint64) uint64 { return truth(int32(c) >= 0, a) | truth(int32(c) < 0, b) })
		for _, m := range []string{"", "ftz."} {
			l.add(three+"f32", "slct."+m+reg+".f32 d, a, b, c;", func(a, b, c uint64) uint64 {
				if m != "" {
					c = Single.flush(c)
				}
				yes := Single.value(c) >= 0
				return truth(yes, a) | truth(!yes, b)
			})
		}
	}
	l.add("b32 b32", "setp.ne.s32 p, a, 0; not.pred q, p; and.pred p, p, q;"+select1,
		func(_, _, _ uint64) uint64 { return 0 })
	l.add("b32 b32 b32", "setp.lt.s32 p, a, b; setp.ne.s32 q, a, 0; xor.pred p, p, q;"+select1,
		func(a, b, _ uint64) uint64 {
			return truth((int32(a) < int32(b)) != (uint32(a) != 0), 1)
		})
	l.add("b32 b32 b32", "mov.pred p, -1; selp.b32 d, a, b, p;", func(a, _, _ uint64) uint64 { return a })
}
