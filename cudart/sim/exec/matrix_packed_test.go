package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// ldmatrix with .m8n16 unpacks 16 elements of a row into bytes, four of which a lane holds.
func TestPackedMatricesAreUnpacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for bits, format := range map[int]string{6: "b6x16_p32", 4: "b4x16_p64"} {
		in := make([]byte, 8192)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		body := "and.b32 %x, %tid, 31;\nmad.lo.u32 %x, %x, 16, %s;\n" +
			fmt.Sprintf("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.%s {%%r0, %%r1, %%r2, %%r3}, [%%x];\n", format) + storeRegisters(4)
		out, err := runTensorBody(t, body, 0, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 * 8 * 16 {
			matrix, row, k := i/128, i/16%8, i%16
			chunk := in[16*(8*matrix+row):]
			want := (uint(chunk[k*bits/8]) | uint(chunk[k*bits/8+1])<<8) >> (k * bits % 8) & (1<<bits - 1)
			if got := wordAt(out, matrix, 4*row+k/4) >> (k % 4 * 8) & 0xff; got != uint32(want) {
				t.Fatalf("%s: element %d of row %d of matrix %d is %#x, want %#x", format, k, row, matrix, got, want)
			}
		}
	}
}
