package suite

import (
	"math"
	"math/rand/v2"

	"gpurun/cudart"
)

// The approximations have relative errors of about 2^-22, and absolute ones of about 2^-20 where sin and cos are small.
// Bounds are a few of them, times the size of the terms that are added.
func approximateKernels(r *rand.Rand) []kernel {
	const n = 1000
	shape := cudart.Launch{Blocks: (n + 127) / 128, Threads: 128}
	price := fill(n, func(int) float32 { return 5 + 25*r.Float32() })
	strike := fill(n, func(int) float32 { return 1 + 99*r.Float32() })
	years := fill(n, func(int) float32 { return 0.25 + 9.75*r.Float32() })
	uniform := fill(2*n, func(int) float32 { return (float32(r.IntN(1<<20)) + 0.5) / (1 << 20) })
	directions := words(r, 32*3)
	rows := []kernel{
		{"black_scholes", shape, []arg{in(price), in(strike), in(years), near[float32](fill(2*n, func(i int) float64 {
			return blackScholes(float64(price[i/2]), float64(strike[i/2]), float64(years[i/2]))[i%2]
		}), relative(0, 2e-4)), value(uint32(n))}}, // prices up to 100, times 2^-20, and the formula's own 7.5e-8 times 100
		{"sobol", cudart.Launch{Blocks: 3, Threads: 64}, []arg{in(directions[:32]), out(fill(n, func(i int) float32 {
			return sobol(directions, uint32(i))
		})), value(uint32(n))}},
		{"monte_carlo_pi", cudart.Launch{Blocks: 2, Threads: 64}, []arg{out(fill(128, func(i int) uint32 {
			return pointsInCircle(uint32(i), 100)
		})), value(uint32(100))}},
		{"box_muller", shape, []arg{in(uniform), near[float32](fill(2*n, func(i int) float64 {
			radius := math.Sqrt(-2 * math.Log(float64(uniform[i&^1])))
			sin, cos := math.Sincos(2 * math.Pi * (float64(uniform[i|1]) - 0.5))
			return radius * []float64{sin, cos}[i%2]
		}), relative(1e-5, 5e-6)), value(uint32(n))}},
	}
	return append(rows, softmaxKernel(r), layerNorm(r))
}

func blackScholes(price, strike, years float64) [2]float64 {
	const rate, volatility = 0.02, 0.3
	normal := func(d float64) float64 { return math.Erfc(-d/math.Sqrt2) / 2 }
	root := volatility * math.Sqrt(years)
	d1 := (math.Log(price/strike) + (rate+0.5*volatility*volatility)*years) / root
	d2, discounted := d1-root, strike*math.Exp(-rate*years)
	return [2]float64{price*normal(d1) - discounted*normal(d2), discounted*normal(-d2) - price*normal(-d1)}
}

func sobol(directions []uint32, i uint32) float32 {
	var x uint32
	for bit := range 32 {
		if (i^i>>1)>>bit&1 != 0 {
			x ^= directions[bit]
		}
	}
	return float32(x) * 0x1p-32
}

func pointsInCircle(i uint32, points int) (count uint32) {
	state := i*2654435761 + 1
	random := func() float32 {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		return float32(state>>8) * 0x1p-24
	}
	for range points {
		x, y := random(), random()
		if float32(x*x)+float32(y*y) < 1 {
			count++
		}
	}
	return count
}

func softmaxKernel(r *rand.Rand) kernel {
	const rows, n = 12, 150
	x := fill(rows*n, func(int) float32 { return float32(4 * r.NormFloat64()) })
	want := make([]float64, 0, len(x))
	for row := range rows {
		var sum float64
		for _, v := range x[row*n:][:n] {
			sum += math.Exp(float64(v))
		}
		for _, v := range x[row*n:][:n] {
			want = append(want, math.Exp(float64(v))/sum)
		}
	}
	// The argument of ex2, at most 40, is rounded in single precision.
	return kernel{"softmax", cudart.Launch{Blocks: rows / 4, Threads: 128}, []arg{
		in(x), near[float32](want, relative(60*0x1p-23, 1e-30)), value(uint32(n)),
	}}
}

func layerNorm(r *rand.Rand) kernel {
	const rows, n = 5, 384
	x := fill(rows*n, func(int) bfloat { return toBfloat(3 + 2*r.NormFloat64()) })
	scale := fill(n, func(int) bfloat { return toBfloat(r.Float64() + 0.5) })
	want := make([]float64, rows*n)
	for row := range rows {
		var mean, square float64
		for _, v := range x[row*n:][:n] {
			mean += v.float() / n
		}
		for _, v := range x[row*n:][:n] {
			square += (v.float() - mean) * (v.float() - mean) / n
		}
		for i := range n {
			want[row*n+i] = (x[row*n+i].float() - mean) / math.Sqrt(square+1e-5) * scale[i].float()
		}
	}
	return kernel{"layer_norm", cudart.Launch{Blocks: rows, Threads: 128}, []arg{
		in(x), in(scale), nearBfloat(want, relative(0x1p-8, 1e-5)), value(uint32(n)),
	}}
}

// nearBfloat is near, for results that are rounded to bfloat16.
func nearBfloat(want []float64, bound func(float64) float64) arg {
	return checked(poison[bfloat](len(want)), func(got []bfloat) error {
		return within(want, fill(len(got), func(i int) float64 { return got[i].float() }), bound)
	})
}
