package tensorcore

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"gpurun/cudart/sim/simd"
)

// same reports whether x and y are one element: NaNs are.
func (x Element) same(y Element) bool {
	return x.exponent == y.exponent && (x == y || x.value != x.value && y.value != y.value)
}

// TestChunksAreElements compares all elements of 16 bits, and random ones of other formats, with those decoded alone.
func TestChunksAreElements(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for _, f := range []Format{Half, BFloat16, TF32, E4M3, E5M2} {
		per := 8 * ChunkBytes / f.bits()
		to := make([]Element, per)
		for n := range uint32(1 << 13) {
			var chunk [ChunkBytes]byte
			var bits [ChunkBytes]uint32
			for i := range per {
				switch at := chunk[i*f.bits()/8:]; f.bits() {
				case 8:
					bits[i] = r.Uint32() & 0xff
					at[0] = byte(bits[i])
				case 16:
					bits[i] = n<<3 | uint32(i)
					binary.LittleEndian.PutUint16(at, uint16(bits[i]))
				case 32:
					bits[i] = r.Uint32() << r.IntN(2) >> r.IntN(2)
					binary.LittleEndian.PutUint32(at, bits[i])
				}
			}
			f.DecodeChunk(to, &chunk)
			for i, x := range to {
				if want := f.Decode(bits[i]); !x.same(want) {
					t.Fatalf("format %d, %#x is %v at place %d of a chunk, want %v", f, bits[i], x, i, want)
				}
			}
		}
	}
}

// A register holds 16 bits of two elements in each lane, and four lanes hold a row.
func TestRegisterOfElements(t *testing.T) {
	const apart = 24
	var register simd.Lanes
	for lane := range register {
		register[lane] = uint64(2*lane) | uint64(2*lane+1)<<16
	}
	to := make([]Element, 8*apart)
	Half.DecodeRegister(to, apart, &register)
	for row := range 8 {
		for k := range apart {
			want := Element{}
			if k < 8 {
				want = Half.Decode(uint32(8*row + k))
			}
			if got := to[row*apart+k]; !got.same(want) {
				t.Errorf("row %d, place %d: %v, want %v", row, k, got, want)
			}
		}
	}
}

func BenchmarkDecodeRegister(b *testing.B) {
	var register simd.Lanes
	to := make([]Element, 64)
	for b.Loop() {
		BFloat16.DecodeRegister(to, 8, &register)
	}
}
