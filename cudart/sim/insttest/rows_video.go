package insttest

import (
	"fmt"
	"math/big"
	"strings"
)

func videoGroups() []Group {
	var scalar, packed list
	for _, op := range []string{"vadd", "vsub", "vabsdiff", "vmin", "vmax"} {
		scalar.addVideo(op, "")
	}
	for _, mode := range []string{"clamp", "wrap"} {
		scalar.addVideo("vshl", mode)
		scalar.addVideo("vshr", mode)
	}
	scalar.addVideoMad()
	scalar.addVideoSet()
	for i := range scalar {
		scalar[i].Alone = emulated(scalar[i].Text)
	}
	for _, parts := range []int{2, 4} {
		packed.addVideoPacked(parts)
	}
	return []Group{{"scalar video", sm80, scalar}, {"packed video", sm80, packed}}
}

// emulated recognizes the forms that a driver of 2025 computes otherwise than the ISA says: merges into
// .h1; saturation of a part, of a left shift and of mixed types; comparisons with what may have more than
// 32 bits; vmad with .sat or a scale.
func emulated(text string) bool {
	sat := strings.Contains(text, ".sat")
	mixed := strings.Contains(text, "s32") && strings.Contains(text, "u32")
	merges := strings.Contains(text, "d.")
	compares := strings.Contains(text, ".min ") || strings.Contains(text, ".max ")
	wide := mixed || strings.HasPrefix(text, "vshl") || strings.HasPrefix(text, "vsub")
	return strings.Contains(text, "d.h1") || compares && wide || sat &&
		(merges || mixed || strings.HasPrefix(text, "vshl") || strings.HasPrefix(text, "vmad")) ||
		strings.HasPrefix(text, "vmad") && strings.Contains(text, "shr")
}

// videoOperations are on numbers that are wide enough.
var videoOperations = map[string]func(x, y *big.Int) *big.Int{
	"vadd": sum, "vsub": difference, "vmin": least, "vmax": greatest,
	"vabsdiff": func(x, y *big.Int) *big.Int { return new(big.Int).Abs(difference(x, y)) },
	"vshl":     func(x, y *big.Int) *big.Int { return new(big.Int).Lsh(x, uint(y.Uint64())) },
	"vshr":     func(x, y *big.Int) *big.Int { return shifted(x, int(y.Uint64())) },
	"vavrg": func(x, y *big.Int) *big.Int { // halves go away from zero
		total := sum(x, y)
		if total.Sign() >= 0 {
			total = sum(total, big.NewInt(1))
		}
		return shifted(total, 1)
	},
}

// videoPart reads the part of a register that a selector names, such as h1, as a type such as s32.
func videoPart(t, selector string, x uint64) *big.Int {
	width, at := 32, 0
	if selector != "" {
		width = map[byte]int{'h': 16, 'b': 8}[selector[0]]
		at = int(selector[1]-'0') * width
	}
	return number(fmt.Sprintf("%c%d", t[0], width), x>>at)
}

func dot(selector string) string {
	if selector == "" {
		return ""
	}
	return "." + selector
}

// addVideo adds a primary operation with all types, and some selectors and secondary operations.
func (l *list) addVideo(op, mode string) {
	selectors := []string{"", "h0", "h1", "b0", "b1", "b2", "b3"}
	for i := range 8 {
		td, ta, tb := []string{"u32", "s32"}[i&1], []string{"u32", "s32"}[i>>1&1], []string{"u32", "s32"}[i>>2]
		if mode != "" {
			tb = "u32"
		}
		for k, sat := range []string{"", ".sat", "", ".sat"} {
			asel, bsel := selectors[(i+2*k)%7], selectors[(3*i+k)%7]
			primary := func(a, b uint64) *big.Int {
				x, y := videoPart(ta, asel, a), videoPart(tb, bsel, b)
				if mode != "" {
					y = big.NewInt(int64(count(y.Uint64(), mode == "clamp")))
				}
				return videoOperations[op](x, y)
			}
			head := op + "." + td + "." + ta + "." + tb + sat + dot(mode)
			l.addSecondaries(head, td, asel, bsel, sat != "", k, primary)
		}
	}
}

var secondaries = map[string]func(x, y *big.Int) *big.Int{"add": sum, "min": least, "max": greatest}

// addSecondaries adds an operation alone, with a secondary one, and with a merge.
func (l *list) addSecondaries(head, td, asel, bsel string, sat bool, k int, primary func(a, b uint64) *big.Int) {
	limited := func(t string, n *big.Int) *big.Int {
		if sat {
			return clamp(t, n)
		}
		return n
	}
	operands := fmt.Sprintf(" a%s, b%s", dot(asel), dot(bsel))
	switch k {
	case 0, 1:
		l.add("b32 b32 b32", head+" d,"+operands+";", func(a, b, _ uint64) uint64 { return wrap(limited(td, primary(a, b))) })
	case 2:
		for name, second := range secondaries {
			l.add("b32 b32 b32 b32", head+"."+name+" d,"+operands+", c;", func(a, b, c uint64) uint64 {
				return wrap(second(limited(td, primary(a, b)), number(td, c)))
			})
		}
	default:
		for _, dsel := range []string{"h0", "h1", "b2", "b0"} {
			width := map[byte]int{'h': 16, 'b': 8}[dsel[0]]
			at := int(dsel[1]-'0') * width
			l.add("b32 b32 b32 b32", head+" d."+dsel+","+operands+", c;", func(a, b, c uint64) uint64 {
				field := uint64(1)<<width - 1
				return c&^(field<<at) | wrap(limited(fmt.Sprintf("%c%d", td[0], width), primary(a, b)))&field<<at
			})
		}
	}
}

func (l *list) addVideoSet() {
	for name, holds := range comparisons {
		for i, types := range [][2]string{{"u32", "u32"}, {"s32", "u32"}, {"u32", "s32"}, {"s32", "s32"}} {
			primary := func(a, b uint64) *big.Int {
				return new(big.Int).SetUint64(truth(holds(videoPart(types[0], "h1", a).Cmp(videoPart(types[1], "b1", b))), 1))
			}
			l.addSecondaries(fmt.Sprintf("vset.%s.%s.%s", types[0], types[1], name), "u32", "h1", "b1", false, i, primary)
		}
	}
}

func (l *list) addVideoMad() {
	for _, types := range [][2]string{{"u32", "u32"}, {"s32", "u32"}, {"u32", "s32"}, {"s32", "s32"}} {
		for _, mods := range []string{
			"", ".sat", ".shr7", ".sat.shr15", ".po", ".po.sat.shr7", "-a", "-c", "-a.sat.shr7", "-c.sat.shr15",
		} {
			l.addVideoMadForm(types, mods)
		}
	}
}

func (l *list) addVideoMadForm(types [2]string, mods string) {
	minusA, minusC, plusOne := strings.HasPrefix(mods, "-a"), strings.HasPrefix(mods, "-c"), strings.Contains(mods, ".po")
	signed := types != [2]string{"u32", "u32"} || minusA || minusC
	final, scale := map[bool]string{true: "s32", false: "u32"}[signed], 0
	switch {
	case strings.Contains(mods, "shr15"):
		scale = 15
	case strings.Contains(mods, "shr7"):
		scale = 7
	}
	third := final
	if types == [2]string{"u32", "u32"} && !minusA {
		third = "u32"
	}
	text := fmt.Sprintf("vmad.%s.%s.%s%s d, %sa.h0, b, %sc;", final, types[0], types[1], strings.TrimLeft(mods, "-ac"),
		strings.Repeat("-", int(truth(minusA, 1))), strings.Repeat("-", int(truth(minusC, 1))))
	l.add("b32 b32 b32 b32", text, func(a, b, c uint64) uint64 {
		n, z := product(videoPart(types[0], "h0", a), number(types[1], b)), number(third, c)
		if minusA {
			n.Neg(n)
		}
		if minusC {
			z.Neg(z)
		}
		if n = sum(n, z); plusOne {
			n = sum(n, big.NewInt(1))
		}
		if n = shifted(n, scale); strings.Contains(mods, "sat") {
			n = clamp(final, n)
		}
		return wrap(n)
	})
}

// addVideoPacked adds instructions on two halves or four bytes.
func (l *list) addVideoPacked(parts int) {
	all := map[int][3]string{2: {"h10", "h10", "h32"}, 4: {"b3210", "b3210", "b7654"}}[parts]
	some := map[int][3]string{2: {"h1", "h21", "h03"}, 4: {"b20", "b7135", "b0246"}}[parts]
	for i := range 8 {
		td, ta, tb := []string{"u32", "s32"}[i&1], []string{"u32", "s32"}[i>>1&1], []string{"u32", "s32"}[i>>2]
		for _, op := range []string{"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"} {
			head := fmt.Sprintf("%s%d.%s.%s.%s", op, parts, td, ta, tb)
			l.addPackedForm(head, td, ta, tb, "", parts, all, false, videoOperations[op])
			l.addPackedForm(head, td, ta, tb, ".sat", parts, some, true, videoOperations[op])
			l.addPackedForm(head, td, ta, tb, ".add", parts, all, false, videoOperations[op])
			l.addPackedForm(head, td, ta, tb, ".add", parts, some, true, videoOperations[op])
		}
		if td != "u32" {
			continue
		}
		for name, holds := range comparisons {
			compare := func(x, y *big.Int) *big.Int { return new(big.Int).SetUint64(truth(holds(x.Cmp(y)), 1)) }
			head := fmt.Sprintf("vset%d.%s.%s.%s", parts, ta, tb, name)
			l.addPackedForm(head, td, ta, tb, "", parts, all, false, compare)
			l.addPackedForm(head, td, ta, tb, ".add", parts, some, true, compare)
		}
	}
}

func (l *list) addPackedForm(head, td, ta, tb, mod string, parts int, selectors [3]string, named bool,
	f func(x, y *big.Int) *big.Int,
) {
	width := 32 / parts
	text := head + mod + " d, a, b, c;"
	if named {
		text = fmt.Sprintf("%s%s d.%s, a.%s, b.%s, c;", head, mod, selectors[0], selectors[1], selectors[2])
	}
	part := func(t, selector string, i int, both uint64) *big.Int {
		n := int(selector[len(selector)-1-i] - '0')
		return number(fmt.Sprintf("%c%d", t[0], width), both>>(n*width))
	}
	l.add("b32 b32 b32 b32", text, func(a, b, c uint64) uint64 {
		both, out, total := a&0xffffffff|b<<32, c, number(td, c)
		for i := range parts {
			if !strings.Contains(selectors[0], fmt.Sprint(i)) {
				continue
			}
			x := f(part(ta, selectors[1], i, both), part(tb, selectors[2], i, both))
			if mod == ".sat" {
				x = clamp(fmt.Sprintf("%c%d", td[0], width), x)
			}
			total = sum(total, x)
			field := uint64(1)<<width - 1
			out = out&^(field<<(i*width)) | wrap(x)&field<<(i*width)
		}
		if mod == ".add" {
			return wrap(total)
		}
		return out
	})
}
