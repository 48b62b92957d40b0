package insttest

import (
	"fmt"
	"math/big"
)

// addFields adds instructions on bit fields.
func (l *list) addFields() {
	// PTX takes these counts modulo 256; a GPU does so for 32-bit operands only.
	for _, t := range []string{"u32", "s32", "u64", "s64"} {
		reg, n := "b"+t[1:], Width(t)
		l.add(reg+" "+reg+" b32 b32", "and.b32 b, b, 255; and.b32 c, c, 255; bfe."+t+" d, a, b, c;",
			func(a, b, c uint64) uint64 {
				pos, length := int(b&255), int(c&255)
				value, field := number(t, a), new(big.Int)
				for i := range min(length, n) {
					// Beyond the top the sign repeats, where there is one.
					field.SetBit(field, i, value.Bit(pos+i))
				}
				if t[0] == 's' && length > 0 && value.Bit(min(pos+length-1, n-1)) != 0 {
					for i := length; i < n; i++ {
						field.SetBit(field, i, 1)
					}
				}
				return wrap(field)
			})
		if t[0] == 's' {
			continue
		}
		l.add(reg+" "+reg+" "+reg+" b32", "and.b32 c, c, 255; bfi."+reg+" d, a, b, c, 9;", func(a, b, c uint64) uint64 {
			out := number(t, b)
			for i, pos := 0, int(c&255); i < 9 && pos+i < n; i++ {
				out.SetBit(out, pos+i, uint(a>>i&1))
			}
			return wrap(out)
		})
	}
	for mode, clamps := range map[string]bool{"clamp": true, "wrap": false} {
		l.add("b32 b32 b32", "bmsk."+mode+".b32 d, a, b;", func(a, b, _ uint64) uint64 {
			from, n := count(a, clamps), count(b, clamps)
			return wrap(new(big.Int).Lsh(difference(power(n), big.NewInt(1)), uint(from)))
		})
		for _, t := range []string{"u32", "s32"} {
			l.add("b32 b32 b32", "szext."+mode+"."+t+" d, a, b;", func(a, b, _ uint64) uint64 {
				n := count(b, clamps)
				if n == 0 {
					return 0
				}
				return wrap(number(fmt.Sprintf("%c%d", t[0], n), a))
			})
		}
		for _, side := range []string{"l", "r"} {
			l.add("b32 b32 b32 b32", fmt.Sprintf("shf.%s.%s.b32 d, a, b, c;", side, mode), func(a, b, c uint64) uint64 {
				both, n := new(big.Int).SetUint64(b<<32|a&0xffffffff), count(c, clamps)
				if side == "l" {
					return wrap(shifted(new(big.Int).Lsh(both, uint(n)), 32))
				}
				return wrap(shifted(both, n))
			})
		}
	}
}

// count is a shift count of 32 bits, clamped to 32 or modulo 32.
func count(n uint64, clamps bool) int {
	if clamps {
		return int(min(n&0xffffffff, 32))
	}
	return int(n & 31)
}
