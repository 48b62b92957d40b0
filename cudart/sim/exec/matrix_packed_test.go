package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// byteStrides are how CUTLASS numbers the bytes of matrices: of the rows that lanes name, and of what lanes hold, by lane,
// byte and register. A row has 16 bytes.
type byteStrides struct {
	rows            [][2]int // of the bits of the lane that names a row
	lane            [][2]int
	byte2, register int
}

func strided(parts [][2]int, at int) (sum int) {
	for _, p := range parts {
		sum += at % p[0] * p[1]
		at /= p[0]
	}
	return sum
}

// ldmatrix and stmatrix of 8-bit elements are those of CUTLASS.
func TestByteMatrices(t *testing.T) {
	lanes := [][2]int{{4, 32}, {8, 1}}
	for text, s := range map[string]byteStrides{
		"m16n16.x2.trans": {[][2]int{{2, 16}, {2, 128}, {4, 32}, {2, 256}}, lanes, 8, 128},
		"m16n8.x4.trans":  {[][2]int{{32, 16}}, lanes, 8, 128},
	} {
		in := make([]byte, 8192)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		body := "and.b32 %x, %thread, 31;\nmad.lo.u32 %x, %x, 16, %s;\n"
		if text == "m16n16.x2.trans" {
			body += "ldmatrix.sync.aligned." + text + ".shared.b8 {%r0, %r1, %r2, %r3}, [%x];\n"
		} else { // what each lane stores is its number, and the register's
			for i := range 4 {
				body += fmt.Sprintf("mad.lo.u32 %%r%d, %%thread, 0x04040404, 0x03020100;\nadd.u32 %%r%d, %%r%d, %d;\n", i, i, i, i*0x80808080&0xffffffff)
			}
			body += "setp.ge.u32 p, %thread, 32;\n@p bra stored;\nstmatrix.sync.aligned." + text +
				".shared.b8 [%x], {%r0, %r1, %r2, %r3};\nstored:\nbar.sync 0;\n" +
				"ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%x];\n"
		}
		out, err := runTensorBody(t, body+storeRegisters(4), 0, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := map[int][2]int{} // the row and the byte of each number
		for row := range 32 {
			for i := range 16 {
				at[strided(s.rows, row)+i] = [2]int{row, i}
			}
		}
		for i := range 4 * 32 * 4 {
			register, lane, b := i/128, i%128/4, i%4
			place := at[strided(s.lane, lane)+b%2*16+b/2*s.byte2+register*s.register]
			got, want := byte(wordAt(out, register, lane)>>(8*b)), in[16*place[0]+place[1]]
			if text == "m16n8.x4.trans" {
				got = byte(wordAt(out, place[1]/4, place[0]) >> (place[1] % 4 * 8))
				want = byte((uint32(lane)*0x04040404 + 0x03020100 + uint32(register)*0x80808080) >> (8 * b))
			}
			if got != want {
				t.Fatalf("%s: byte %d of register %d of lane %d is %#x, want %#x", text, b, register, lane, got, want)
			}
		}
	}
}

// ldmatrix with .m8n16 unpacks 16 elements of a row into bytes, four of which a lane holds.
func TestPackedMatricesAreUnpacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for bits, format := range map[int]string{6: "b6x16_p32", 4: "b4x16_p64"} {
		in := make([]byte, 8192)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		body := "and.b32 %x, %thread, 31;\nmad.lo.u32 %x, %x, 16, %s;\n" +
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
