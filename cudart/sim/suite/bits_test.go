package suite

import (
	"math/big"
	"math/rand/v2"
	"slices"

	"gpurun/cudart"
)

func bitsKernels(r *rand.Rand) []kernel {
	const pitch = 64
	now, before := randomBytes(r, 4*pitch), randomBytes(r, 4*pitch)
	x := words(r, 256)
	a, b := fill(256*6, func(int) int8 { return int8(r.Uint32()) }), fill(4*6, func(int) int8 { return int8(r.Uint32()) })
	rows := []kernel{
		{"motion", cudart.Launch{Blocks: 4, Threads: 32}, []arg{in(now), in(before), out(fill(128, func(i int) uint32 {
			return motion(now[i/32*8:], before[i/32*8+i%32:], pitch)
		})), value(uint32(pitch))}},
		{"dot_bytes", cudart.Launch{Blocks: 1, Threads: 64}, []arg{in(a), in(b), out(fill(64, func(i int) (sum int32) {
			for k, v := range b {
				sum += int32(a[24*i+k]) * int32(v)
			}
			return sum
		})), value(uint32(6))}},
		{"shuffle_bits", cudart.Launch{Blocks: 2, Threads: 128}, []arg{in(x), out(fill(1024, func(i int) uint32 {
			return shuffleBits(x[i/4], x[i/4^1], uint32(i/4))[i%4]
		}))}},
	}
	return append(rows, bigNumbers(words(r, 512), words(r, 512)))
}

// motion is the sum of the absolute differences of 8 x 4 pixels.
func motion(a, b []uint8, pitch int) (sum uint32) {
	for y := range 4 {
		for x := range 8 {
			p, q := a[y*pitch+x], b[y*pitch+x]
			sum += uint32(max(p, q) - min(p, q))
		}
	}
	return sum
}

func bigNumbers(a, b []uint32) kernel {
	for i := range 8 { // carries through all words
		a[i], b[i] = 1<<32-1, 1<<32-1
	}
	var sums, products []uint32
	for i := 0; i < len(a); i += 4 {
		p, q := fromWords(a[i:][:4]), fromWords(b[i:][:4])
		sums = append(sums, toWords(new(big.Int).Add(p, q), 4)...)
		products = append(products, toWords(new(big.Int).Mul(p, q), 8)...)
	}
	return kernel{"big_numbers", cudart.Launch{Blocks: 2, Threads: 64}, []arg{in(a), in(b), out(sums), out(products)}}
}

func fromWords(x []uint32) *big.Int {
	n := new(big.Int)
	for _, w := range slices.Backward(x) {
		n.Or(n.Lsh(n, 32), big.NewInt(int64(w)))
	}
	return n
}

// toWords has the lowest n words.
func toWords(x *big.Int, n int) []uint32 {
	x = new(big.Int).Set(x)
	return fill(n, func(int) uint32 {
		low := uint32(new(big.Int).And(x, big.NewInt(1<<32-1)).Uint64())
		x.Rsh(x, 32)
		return low
	})
}

func shuffleBits(x, y, i uint32) [4]uint32 {
	var interleaved uint32
	for bit := range 16 {
		interleaved |= x >> bit & 1 << (2 * bit)
	}
	const mask = 0x1ff
	return [4]uint32{
		x>>8&0xff<<16 | x>>16&0xff<<8 | x>>24 | y&0xff<<24, // the selector 0x4123, a digit for each byte
		interleaved,
		y&^(mask<<13) | x>>7&mask<<13,
		x&y | y&^i | x&^i,
	}
}
