package exec

import (
	"math/rand/v2"
	"testing"

	"gpurun/cudart/sim/ptx"
)

// The fast loops give what the exact functions give, which TestInstructionRows compares with math/big.
func TestHalvesAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, typ := range []ptx.Type{typeF16, typeBF16} {
		for op := range halfOps {
			form := floatForm{op: op}
			fast, exact := form.halves(typ), form.scalar(formatOf(typ))
			for range 3000 {
				var d, a, b, c lanes
				near := r.Uint64() // exponents that are close make halfway cases
				for i := range a {
					a[i], b[i], c[i] = r.Uint64()&0xffff, r.Uint64()&0xffff, r.Uint64()&0xffff
					if i%2 == 0 {
						b[i] = a[i] ^ near&0x87ff
						c[i] = a[i] ^ near>>16&0x87ff
					}
				}
				fast(&d, &a, &b, &c)
				for i := range d {
					if want := exact(a[i], b[i], c[i]); d[i] != want {
						t.Fatalf("%s.%s of %#x, %#x, %#x is %#x, want %#x", op, typ, a[i], b[i], c[i], d[i], want)
					}
				}
			}
		}
	}
}
