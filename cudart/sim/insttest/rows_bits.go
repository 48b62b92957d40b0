package insttest

import (
	"fmt"
	"math/big"
	"math/bits"
)

func bitGroups() []Group {
	var l, combined list
	for _, n := range []int{16, 32, 64} {
		l.addLogic(n)
		l.addShifts(n)
	}
	l.addCounts()
	l.addFields()
	l.addPermutes()
	for _, table := range []uint64{0, 0x2d, 0x96, 0xca, 0xfe, 0xff} {
		lookup := lookUp(table)
		l.add("b32 b32 b32 b32", fmt.Sprintf("lop3.b32 d, a, b, c, %#x;", table), lookup)
		combined.addLop3(table, lookup)
	}
	l.addDots()
	l.addMoves()
	return []Group{{"bits", sm80, l}, {"lop3 with predicates", sm80lop3, combined}}
}

func (l *list) addLogic(n int) {
	t := fmt.Sprintf("b%d", n)
	two := t + " " + t + " " + t
	l.add(two, "and."+t+" d, a, b;", func(a, b, _ uint64) uint64 { return a & b })
	l.add(two, "or."+t+" d, a, b;", func(a, b, _ uint64) uint64 { return a | b })
	l.add(two, "xor."+t+" d, a, b;", func(a, b, _ uint64) uint64 { return a ^ b })
	l.add(t+" "+t, "not."+t+" d, a;", func(a, _, _ uint64) uint64 { return ^a })
	l.add(t+" "+t, "cnot."+t+" d, a;", func(a, _, _ uint64) uint64 { return truth(a&Mask(t) == 0, 1) })
	l.add(two, "setp.ne.b"+t[1:]+" p, a, b; selp."+t+" d, a, b, p;", func(a, _, _ uint64) uint64 { return a })
}

// truth is v where ok.
func truth(ok bool, v uint64) uint64 {
	if ok {
		return v
	}
	return 0
}

func (l *list) addShifts(n int) {
	t := fmt.Sprintf("%d", n)
	types := fmt.Sprintf("b%d b%d b32", n, n)
	l.add(types, "shl.b"+t+" d, a, b;",
		func(a, b, _ uint64) uint64 { return wrap(new(big.Int).Lsh(number("u"+t, a), uint(min(b, 64)))) })
	for _, class := range []string{"b", "u", "s"} {
		typ := class + t
		l.add(types, "shr."+typ+" d, a, b;",
			func(a, b, _ uint64) uint64 { return wrap(shifted(number(typ, a), int(min(b, 64)))) })
	}
}

func (l *list) addCounts() {
	l.add("b32 b32", "popc.b32 d, a;", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) })
	l.add("b32 b64", "popc.b64 d, a;", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	l.add("b32 b32", "clz.b32 d, a;", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) })
	l.add("b32 b64", "clz.b64 d, a;", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a)) })
	l.add("b32 b32", "brev.b32 d, a;", func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) })
	l.add("b64 b64", "brev.b64 d, a;", func(a, _, _ uint64) uint64 { return bits.Reverse64(a) })
	for _, t := range []string{"u32", "s32", "u64", "s64"} {
		find := func(shiftamt bool) Func {
			return func(a, _, _ uint64) uint64 {
				n := number(t, a)
				if n.Sign() < 0 {
					n.Not(n)
				}
				switch pos := n.BitLen() - 1; {
				case pos < 0:
					return 0xffffffff
				case shiftamt:
					return uint64(Width(t) - 1 - pos)
				default:
					return uint64(pos)
				}
			}
		}
		l.add("b32 b"+t[1:], "bfind."+t+" d, a;", find(false))
		l.add("b32 b"+t[1:], "bfind.shiftamt."+t+" d, a;", find(true))
	}
	l.add("b32 b32 b32 b32", "and.b32 b, b, 31; shr.s32 c, c, 1; fns.b32 d, a, b, c;", func(a, b, c uint64) uint64 {
		return nthSet(a, b, uint64(int32(c)>>1))
	})
	l.add("b32 b32 b32 b32", "and.b32 b, b, 31; shr.s32 c, c, 28; fns.b32 d, a, b, c;", func(a, b, c uint64) uint64 {
		return nthSet(a, b, uint64(int32(c)>>28))
	})
}

// nthSet walks from bit to bit.
func nthSet(a, b, c uint64) uint64 {
	base, n := int(b&31), int(int32(c))
	if n == 0 {
		return truth(a>>base&1 == 0, 0xffffffff) | truth(a>>base&1 != 0, uint64(base))
	}
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for ; base >= 0 && base < 32; base += step {
		if a>>base&1 != 0 {
			if n--; n == 0 {
				return uint64(base)
			}
		}
	}
	return 0xffffffff
}

func (l *list) addPermutes() {
	three := "b32 b32 b32 b32"
	permute := func(selector func(c uint64) [4]int) Func {
		return func(a, b, c uint64) uint64 {
			pool, out := a&0xffffffff|b<<32, uint64(0)
			for i, s := range selector(c) {
				x := pool >> (8 * (s & 7)) & 0xff
				if s&8 != 0 {
					x = truth(x>>7 != 0, 0xff)
				}
				out |= x << (8 * i)
			}
			return out
		}
	}
	for mode, selector := range map[string]func(n int) [4]int{
		"f4e":  func(n int) [4]int { return [4]int{n, n + 1, n + 2, n + 3} },
		"b4e":  func(n int) [4]int { return [4]int{n, (n + 7) % 8, (n + 6) % 8, (n + 5) % 8} },
		"rc8":  func(n int) [4]int { return [4]int{n, n, n, n} },
		"ecl":  func(n int) [4]int { return [4]int{max(n, 0), max(n, 1), max(n, 2), 3} },
		"ecr":  func(n int) [4]int { return [4]int{0, min(n, 1), min(n, 2), min(n, 3)} },
		"rc16": func(n int) [4]int { return [4]int{n % 2 * 2, n%2*2 + 1, n % 2 * 2, n%2*2 + 1} },
	} {
		l.add(three, "prmt.b32."+mode+" d, a, b, c;", permute(func(c uint64) [4]int { return selector(int(c & 3)) }))
	}
	l.add(three, "prmt.b32 d, a, b, c;", permute(func(c uint64) [4]int {
		return [4]int{int(c & 15), int(c >> 4 & 15), int(c >> 8 & 15), int(c >> 12 & 15)}
	}))
}

// lookUp is lop3 with a table.
func lookUp(table uint64) Func {
	return func(a, b, c uint64) uint64 {
		var out uint64
		for i := range 32 {
			out |= table >> (a>>i&1<<2 | b>>i&1<<1 | c>>i&1) & 1 << i
		}
		return out
	}
}

// addLop3 adds the forms whose predicate decides whether d is inverted.
func (l *list) addLop3(table uint64, lookup Func) {
	for op, combine := range map[string]func(x, y bool) bool{
		"and": func(x, y bool) bool { return x && y },
		"or":  func(x, y bool) bool { return x || y },
	} {
		text := fmt.Sprintf("setp.lt.s32 q, a, b; lop3.%s.b32 d|p, a, b, c, %#x, q; @p not.b32 d, d;", op, table)
		l.add("b32 b32 b32 b32", text, func(a, b, c uint64) uint64 {
			d := lookup(a, b, c)
			if combine(d&0xffffffff != 0, int32(a) < int32(b)) {
				d = ^d
			}
			return d
		})
	}
}

func (l *list) addDots() {
	for _, ta := range []string{"u", "s"} {
		for _, tb := range []string{"u", "s"} {
			dot := func(parts, width, first int) Func {
				return func(a, b, c uint64) uint64 {
					total := number("s32", c)
					for i := range parts {
						x := number(fmt.Sprintf("%s%d", ta, width), a>>(i*width))
						total = sum(total, product(x, number(tb+"8", b>>(8*(first+i)))))
					}
					return wrap(total)
				}
			}
			types := fmt.Sprintf("%s32.%s32 d, a, b, c;", ta, tb)
			l.add("b32 b32 b32 b32", "dp4a."+types, dot(4, 8, 0))
			l.add("b32 b32 b32 b32", "dp2a.lo."+types, dot(2, 16, 0))
			l.add("b32 b32 b32 b32", "dp2a.hi."+types, dot(2, 16, 2))
		}
	}
}

func (l *list) addMoves() {
	l.add("b32 b32", "mov.b32 d, a;", func(a, _, _ uint64) uint64 { return a })
	l.add("b64 b32 b32", "mov.b64 d, {a, b};", func(a, b, _ uint64) uint64 { return a&0xffffffff | b<<32 })
	l.add("b32 b16 b16", "mov.b32 d, {a, b};", func(a, b, _ uint64) uint64 { return a&0xffff | b<<16 })
	l.add("b64 b16 b16 b16", "mov.b64 d, {a, b, c, a};", func(a, b, c uint64) uint64 {
		return a&0xffff | b&0xffff<<16 | c&0xffff<<32 | a<<48
	})
	l.add("b32 b64", "mov.b64 {_, d}, a;", func(a, _, _ uint64) uint64 { return a >> 32 })
	l.add("b32 b64", "mov.b64 {d, _}, a;", func(a, _, _ uint64) uint64 { return a })
	l.add("b16 b64", "mov.b64 {_, _, d, _}, a;", func(a, _, _ uint64) uint64 { return a >> 32 })
	l.add("b16 b32", "mov.b32 {_, d}, a;", func(a, _, _ uint64) uint64 { return a >> 16 })
	l.add("b32 b32", "{ .reg .b16 low, high; mov.b32 {low, high}, a; mov.b32 d, {high, low}; }",
		func(a, _, _ uint64) uint64 {
			return uint64(bits.RotateLeft32(uint32(a), 16))
		})
	l.add("b32 b32", "{ .reg .b8 x<4>; mov.b32 {x0, x1, x2, x3}, a; mov.b32 d, {x3, x2, x1, x0}; }",
		func(a, _, _ uint64) uint64 {
			return uint64(bits.ReverseBytes32(uint32(a)))
		})
}
