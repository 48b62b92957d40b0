package exec

import "math"

// nan64 is the NaN of an invalid operation on doubles.
const nan64 = 0xfff8000000000000

func f64(x uint64) float64 { return math.Float64frombits(x) }

// f64bits is the register image of x, the result of an operation. Of the
// operands that are NaN the first, in the order given here, passes on its sign
// and payload; the orders below are those of GPUs.
func f64bits(x float64, operands ...uint64) uint64 {
	if x == x {
		return math.Float64bits(x)
	}
	for _, o := range operands {
		if binary64.isNaN(o) {
			return quiet64(o)
		}
	}
	return nan64
}

func quiet64(nan uint64) uint64 { return nan | 1<<51 }

func add64(a, b uint64) uint64 { return f64bits(f64(a)+f64(b), b, a) }
func sub64(a, b uint64) uint64 { return f64bits(f64(a)-f64(b), b, a) }
func mul64(a, b uint64) uint64 { return f64bits(f64(a)*f64(b), b, a) }
func div64(a, b uint64) uint64 { return f64bits(f64(a)/f64(b), a, b) }

func fma64(a, b, c uint64) uint64 { return f64bits(math.FMA(f64(a), f64(b), f64(c)), b, c, a) }

func rcp64(a uint64) uint64  { return f64bits(1/f64(a), a) }
func sqrt64(a uint64) uint64 { return f64bits(math.Sqrt(f64(a)), a) }
func abs64(a uint64) uint64  { return binary64.setSign(a, a&^(1<<63)) }
func neg64(a uint64) uint64  { return binary64.setSign(a, a^1<<63) }
