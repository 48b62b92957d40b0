package insttest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The operands of each instruction that can round up to the smallest normal single make it do so, above and below
// half of its last place.
func TestOperandsRoundUpToNormal(t *testing.T) {
	for _, op := range []string{"mul", "fma", "div", "rcp"} {
		for _, mode := range []Mode{"rn", "rm", "rp"} {
			if mode == "rn" && (op == "div" || op == "rcp") { // never so near to 2^-126
				continue
			}
			row := Row{
				Text:  op + "." + string(mode) + ".ftz.f32 d, a, b;",
				Types: strings.Repeat("f32 ", operations[op].operands+1),
			}
			data := Operands(rand.New(rand.NewPCG(1, 2)), row, 2048)
			rounded, cut, nearest := Single.arithmetic(op, mode), Single.arithmetic(op, "rz"), Single.arithmetic(op, "rn")
			var below, above int
			for i := range 2048 {
				a, b, c := Word(data, i, 1), Word(data, i, 2), Word(data, i, 3)
				d := rounded(a, b, c)
				switch up := d&0x7fffffff == 0x00800000 && Single.flush(cut(a, b, c)) != cut(a, b, c); {
				case up && nearest(a, b, c) == d:
					above++
				case up:
					below++
				}
			}
			if above == 0 && op != "div" && op != "rcp" || below == 0 && mode != "rn" {
				t.Errorf("%s.%s rounds up to 2^-126 %d times from below half of the last place, %d times from above it",
					op, mode, below, above)
			}
		}
	}
}
