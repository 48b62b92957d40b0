package insttest

import (
	"fmt"
	"math/big"
	"strings"
)

// number returns the low bits of x as a number, signed where the type is.
func number(typ string, x uint64) *big.Int {
	n := new(big.Int).SetUint64(x & Mask(typ))
	if typ[0] == 's' && n.Bit(Width(typ)-1) != 0 {
		n.Sub(n, power(Width(typ)))
	}
	return n
}

func power(n int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(n)) }

// wrap returns the low 64 bits of n in two's complement.
func wrap(n *big.Int) uint64 {
	return new(big.Int).And(n, new(big.Int).Sub(power(64), big.NewInt(1))).Uint64()
}

// clamp limits n to the range of a type.
func clamp(typ string, n *big.Int) *big.Int {
	low, high := big.NewInt(0), power(Width(typ))
	if typ[0] == 's' {
		high = power(Width(typ) - 1)
		low.Neg(high)
	}
	high.Sub(high, big.NewInt(1))
	switch {
	case n.Cmp(low) < 0:
		return low
	case n.Cmp(high) > 0:
		return high
	}
	return n
}

// onNumbers makes a Func of a function of numbers of one type.
func onNumbers(typ string, f func(x, y, z *big.Int) *big.Int) Func {
	return func(a, b, c uint64) uint64 {
		return wrap(f(number(typ, a), number(typ, b), number(typ, c)))
	}
}

func sum(x, y *big.Int) *big.Int        { return new(big.Int).Add(x, y) }
func difference(x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) }
func product(x, y *big.Int) *big.Int    { return new(big.Int).Mul(x, y) }
func shifted(x *big.Int, n int) *big.Int {
	return new(big.Int).Rsh(x, uint(n))
}

func least(x, y *big.Int) *big.Int {
	if x.Cmp(y) < 0 {
		return x
	}
	return y
}

func greatest(x, y *big.Int) *big.Int {
	if x.Cmp(y) > 0 {
		return x
	}
	return y
}

// quotient and remainder truncate; GPUs return all ones for a zero divisor.
func quotient(x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return big.NewInt(-1)
	}
	return new(big.Int).Quo(x, y)
}

func remainder(x, y *big.Int) *big.Int {
	if y.Sign() == 0 {
		return big.NewInt(-1)
	}
	return new(big.Int).Rem(x, y)
}

var integerTypes = []string{"u16", "s16", "u32", "s32", "u64", "s64"}

func integerGroups() []Group {
	var plain, multiply, carry, packed list
	for _, t := range integerTypes {
		plain.addInteger(t)
		multiply.addMultiply(t)
	}
	plain.addSaturating()
	multiply.add24()
	for _, t := range []string{"u32", "s32", "u64", "s64"} {
		carry.addCarry(t)
	}
	packed.addPacked()
	return []Group{
		{"integers", sm80, plain},
		{"multiplications", sm80, multiply},
		{"carries", sm80, carry},
		{"packed integers", sm90, packed},
	}
}

func (l *list) addInteger(t string) {
	reg := "b" + t[1:]
	two := strings.Repeat(reg+" ", 3)
	for op, f := range map[string]func(x, y *big.Int) *big.Int{
		"add": sum, "sub": difference, "min": least, "max": greatest, "div": quotient, "rem": remainder,
	} {
		l.add(two, fmt.Sprintf("%s.%s d, a, b;", op, t), onNumbers(t, func(x, y, _ *big.Int) *big.Int { return f(x, y) }))
	}
	l.add(strings.Repeat(reg+" ", 4), fmt.Sprintf("sad.%s d, a, b, c;", t), onNumbers(t, func(x, y, z *big.Int) *big.Int {
		return sum(z, new(big.Int).Abs(difference(x, y)))
	}))
	if t[0] == 's' {
		l.add(reg+" "+reg, fmt.Sprintf("neg.%s d, a;", t),
			onNumbers(t, func(x, _, _ *big.Int) *big.Int { return new(big.Int).Neg(x) }))
		l.add(reg+" "+reg, fmt.Sprintf("abs.%s d, a;", t),
			onNumbers(t, func(x, _, _ *big.Int) *big.Int { return new(big.Int).Abs(x) }))
	}
}

func (l *list) addSaturating() {
	two := "b32 b32 b32"
	l.add(two, "add.sat.s32 d, a, b;",
		onNumbers("s32", func(x, y, _ *big.Int) *big.Int { return clamp("s32", sum(x, y)) }))
	l.add(two, "sub.sat.s32 d, a, b;",
		onNumbers("s32", func(x, y, _ *big.Int) *big.Int { return clamp("s32", difference(x, y)) }))
}

func (l *list) addMultiply(t string) {
	n := Width(t)
	reg, wide := "b"+t[1:], fmt.Sprintf("b%d", 2*n)
	two, three := strings.Repeat(reg+" ", 3), strings.Repeat(reg+" ", 4)
	high := func(x, y *big.Int) *big.Int { return shifted(product(x, y), n) }
	l.add(two, "mul.lo."+t+" d, a, b;", onNumbers(t, func(x, y, _ *big.Int) *big.Int { return product(x, y) }))
	l.add(two, "mul.hi."+t+" d, a, b;", onNumbers(t, func(x, y, _ *big.Int) *big.Int { return high(x, y) }))
	l.add(three, "mad.lo."+t+" d, a, b, c;",
		onNumbers(t, func(x, y, z *big.Int) *big.Int { return sum(product(x, y), z) }))
	l.add(three, "mad.hi."+t+" d, a, b, c;", onNumbers(t, func(x, y, z *big.Int) *big.Int { return sum(high(x, y), z) }))
	if t == "s32" {
		l.add(three, "mad.hi.sat.s32 d, a, b, c;",
			onNumbers(t, func(x, y, z *big.Int) *big.Int { return clamp(t, sum(high(x, y), z)) }))
	}
	if n == 64 {
		return
	}
	l.add(wide+" "+reg+" "+reg, "mul.wide."+t+" d, a, b;",
		onNumbers(t, func(x, y, _ *big.Int) *big.Int { return product(x, y) }))
	l.add(wide+" "+reg+" "+reg+" "+wide, "mad.wide."+t+" d, a, b, c;", func(a, b, c uint64) uint64 {
		return wrap(sum(product(number(t, a), number(t, b)), new(big.Int).SetUint64(c)))
	})
}

// add24 adds products of 24 bits, which have 48.
func (l *list) add24() {
	for _, t := range []string{"u32", "s32"} {
		narrow := t[:1] + "24"
		for part, shift := range map[string]int{"lo": 0, "hi": 16} {
			f := func(a, b uint64) *big.Int { return shifted(product(number(narrow, a), number(narrow, b)), shift) }
			l.add("b32 b32 b32", fmt.Sprintf("mul24.%s.%s d, a, b;", part, t),
				func(a, b, _ uint64) uint64 { return wrap(f(a, b)) })
			l.add("b32 b32 b32 b32", fmt.Sprintf("mad24.%s.%s d, a, b, c;", part, t), func(a, b, c uint64) uint64 {
				return wrap(sum(f(a, b), number(t, c)))
			})
		}
	}
	l.add("b32 b32 b32 b32", "mad24.hi.sat.s32 d, a, b, c;", func(a, b, c uint64) uint64 {
		return wrap(clamp("s32", sum(number("s32", wrap(shifted(product(number("s24", a), number("s24", b)), 16))),
			number("s32", c))))
	})
}

// addCarry adds chains of two words, whose second one reads the carry of the first.
func (l *list) addCarry(t string) {
	n := Width(t)
	reg, u := "b"+t[1:], "u"+t[1:]
	three := strings.Repeat(reg+" ", 4)
	chain := func(first, second string) string {
		return fmt.Sprintf("{ .reg .%s low; %s low, a, b; %s }", reg, first, second)
	}
	l.add(three, chain("add.cc."+t, "addc."+t+" d, c, a;"), onNumbers(u, func(x, y, z *big.Int) *big.Int {
		return sum(sum(z, x), shifted(sum(x, y), n))
	}))
	l.add(three, chain("sub.cc."+t, "subc."+t+" d, c, b;"), onNumbers(u, func(x, y, z *big.Int) *big.Int {
		return difference(difference(z, y), new(big.Int).Neg(shifted(difference(x, y), n)))
	}))
	// The carry out of the second sum, and the borrow out of the second difference.
	l.add(three, chain("add.cc."+t, "addc.cc."+t+" d, c, a; addc."+t+" d, 0, 0;"),
		onNumbers(u, func(x, y, z *big.Int) *big.Int {
			return shifted(sum(sum(z, x), shifted(sum(x, y), n)), n)
		}))
	l.add(three, chain("sub.cc."+t, "subc.cc."+t+" d, c, b; subc."+t+" d, 0, 0;"),
		onNumbers(u, func(x, y, z *big.Int) *big.Int {
			borrow := new(big.Int).Neg(shifted(difference(x, y), n))
			return shifted(difference(difference(z, y), borrow), n)
		}))
	for part, shift := range map[string]int{"lo": 0, "hi": n} {
		factor := func(a, b uint64) *big.Int {
			return number(u, wrap(shifted(product(number(t, a), number(t, b)), shift)))
		}
		l.add(three, fmt.Sprintf("mad.%s.cc.%s d, a, b, c; madc.hi.%s d, a, b, c;", part, t, t), func(a, b, c uint64) uint64 {
			carry := shifted(sum(factor(a, b), number(u, c)), n)
			return wrap(sum(sum(shifted(product(number(t, a), number(t, b)), n), number(u, c)), carry))
		})
		l.add(three, fmt.Sprintf("mad.%s.cc.%s d, a, b, c; madc.lo.cc.%s d, a, c, b; addc.%s d, 0, 0;", part, t, t, t),
			func(a, b, c uint64) uint64 {
				carry := shifted(sum(factor(a, b), number(u, c)), n)
				low := number(u, wrap(product(number(t, a), number(t, c))))
				return wrap(shifted(sum(sum(low, number(u, b)), carry), n))
			})
	}
}

// addPacked adds instructions on pairs of 16 bits, and .relu.
func (l *list) addPacked() {
	relu := func(n *big.Int) *big.Int { return greatest(n, new(big.Int)) }
	for _, t := range []string{"u16", "s16"} {
		for op, f := range map[string]func(x, y *big.Int) *big.Int{"add": sum, "min": least, "max": greatest} {
			l.add("b32 b32 b32", fmt.Sprintf("%s.%sx2 d, a, b;", op, t),
				pairs(onNumbers(t, func(x, y, _ *big.Int) *big.Int { return f(x, y) })))
			if op == "add" || t == "u16" {
				continue
			}
			l.add("b32 b32 b32", fmt.Sprintf("%s.relu.s16x2 d, a, b;", op),
				pairs(onNumbers(t, func(x, y, _ *big.Int) *big.Int { return relu(f(x, y)) })))
			l.add("b32 b32 b32", fmt.Sprintf("%s.relu.s32 d, a, b;", op),
				onNumbers("s32", func(x, y, _ *big.Int) *big.Int { return relu(f(x, y)) }))
		}
	}
}

// pairs applies f to both halves of 32 bits.
func pairs(f Func) Func {
	return func(a, b, c uint64) uint64 {
		return f(a&0xffff, b&0xffff, c&0xffff)&0xffff | f(a>>16&0xffff, b>>16&0xffff, c>>16&0xffff)&0xffff<<16
	}
}
