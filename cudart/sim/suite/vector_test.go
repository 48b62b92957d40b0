package suite

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"gpurun/cudart"
)

func vectorKernels(r *rand.Rand) []kernel {
	const n = 5000
	x, y, a := floats(r, 4*n), floats(r, 4*n), float32(0.7)
	xd := doubles(r, n)
	shape := cudart.Launch{Blocks: (n + 255) / 256, Threads: 256}
	start, code := words(r, 256), randomBytes(r, 64)
	table := newTable(r)
	collatzStart := below(r, n, 1<<20)
	divideX := fill(n, func(int) uint64 { return r.Uint64() })
	divideY := fill(n, func(int) uint64 { return r.Uint64() >> r.IntN(60) })
	rows := []kernel{
		{"vector_add", shape, []arg{
			in(x), in(y), out(fill(4*n, func(i int) float32 { return x[i] + y[i] })), value(uint32(n)),
		}},
		{"saxpy", cudart.Launch{Blocks: 3, Threads: 96}, []arg{
			value(a), in(x), inout(y, fill(4*n, func(i int) float32 { return float32(a*x[i]) + y[i] })), value(uint32(4 * n)),
		}},
		{"polynomial", shape, []arg{
			in(xd), out(fill(n, func(i int) float64 { return polynomial(xd[i]) })), value(uint32(n)),
		}},
		{"table_by_value", cudart.Launch{Blocks: 3, Threads: 64}, []arg{structure(table, 8), out(fill(192, table.walk))}},
		{"divide", shape, []arg{in(divideX), in(divideY), out(fill(4*n, func(i int) uint64 {
			return divide(divideX[i/4], divideY[i/4])[i%4]
		})), value(uint32(n))}},
		{"collatz", shape, []arg{
			in(collatzStart), out(fill(n, func(i int) uint32 { return collatz(collatzStart[i]) })), value(uint32(n)),
		}},
		{"interpreter", cudart.Launch{Blocks: 2, Threads: 128}, []arg{
			in(code), in(start), out(fill(512, func(i int) uint32 {
				return interpret(code, start[i/2], uint32(i/2))[i%2]
			})), value(uint32(64)),
		}},
	}
	return append(rows, smallFloatKernels(r, shape, n)...)
}

// smallFloatKernels compute in 16 bits. Products and sums of doubles are exact there before they are rounded once.
func smallFloatKernels(r *rand.Rand, shape cudart.Launch, n int) []kernel {
	halves := func(n int) []half { return fill(n, func(int) half { return toHalf(4*r.Float64() - 2) }) }
	bfloats := func(n int) []bfloat { return fill(n, func(int) bfloat { return toBfloat(4*r.Float64() - 2) }) }
	ha, hx, hy, hz := toHalf(1.37), halves(2*n), halves(2*n), halves(2*n)
	ba, bx, by, bz := toBfloat(-0.61), bfloats(n), bfloats(n), bfloats(n)
	return []kernel{
		{"half_axpy", shape, []arg{value(ha), in(hx), inout(hy, fill(2*n, func(i int) half {
			if i >= n {
				return hy[i]
			}
			return toHalf(toHalf(ha.float()*hx[i].float()).float() + hy[i].float())
		})), value(uint32(n))}},
		{"half2_fma", shape, []arg{in(hx), in(hy), inout(hz, fill(2*n, func(i int) half {
			return toHalf(hx[i].float()*hy[i].float() + hz[i].float())
		})), value(uint32(n))}},
		{"bfloat_axpy", shape, []arg{value(ba), in(bx), inout(by, fill(n, func(i int) bfloat {
			return toBfloat(float64(float32(ba.float()*bx[i].float()) + float32(by[i].float())))
		})), value(uint32(n))}},
		{"bfloat2_fma", shape, []arg{in(bx), in(by), inout(bz, fill(n, func(i int) bfloat {
			return toBfloat(bx[i].float()*by[i].float() + bz[i].float())
		})), value(uint32(n / 2))}},
	}
}

func polynomial(x float64) float64 {
	sum := 1.0
	for k := 8; k > 0; k-- {
		sum = math.FMA(sum, x, 1/float64(k))
	}
	return sum
}

// table is the struct that table_by_value takes.
type table struct {
	Count   uint32
	Steps   [12]uint8
	Entries [254]uint64
}

func newTable(r *rand.Rand) *table {
	t := &table{Count: 251}
	for i := range t.Steps {
		t.Steps[i] = uint8(r.Uint32())
	}
	for i := range t.Entries {
		t.Entries[i] = r.Uint64()
	}
	return t
}

func (t *table) walk(i int) uint64 {
	x := uint64(i)
	for _, step := range t.Steps {
		x = t.Entries[(x+uint64(step))%uint64(t.Count)] ^ x<<1
	}
	return x
}

func divide(a, b uint64) [4]uint64 {
	b |= 1
	return [4]uint64{
		a / b,
		uint64(int64(a) % int64(b>>20|1)),
		uint64(uint32(a) / (uint32(b) | 1)),
		uint64(int32(a) % int32(uint32(b)>>9|1)),
	}
}

func collatz(x uint32) uint32 {
	count := uint32(0)
	for v := uint64(x); v > 1; count++ {
		if v%2 == 1 {
			v = 3*v + 1
		} else {
			v /= 2
		}
	}
	return count
}

func interpret(code []uint8, a, b uint32) [2]uint32 {
	i := int(b)
	for at := range code {
		switch code[(at+i)%len(code)] % 9 {
		case 0:
			a += b
		case 1:
			b ^= a
		case 2:
			a = bits.RotateLeft32(a, 7)
		case 3:
			b *= 2654435761
		case 4:
			if a&1 != 0 {
				b++
			} else {
				a--
			}
		case 5:
			a = uint32(bits.OnesCount32(b) + bits.LeadingZeros32(a|1))
		case 6:
			b = bits.Reverse32(a)
		case 7:
			a ^= uint32(uint64(a) * uint64(b) >> 32)
		default:
			b -= a
		}
	}
	return [2]uint32{a, b}
}
