package insttest

import (
	"math"
	"math/big"
)

// Format is a binary floating-point format: the widths of its fields.
type Format struct{ Exponent, Mantissa int }

// The formats of PTX.
var (
	Half   = Format{5, 10}
	BFloat = Format{8, 7}
	Single = Format{8, 23}
	Double = Format{11, 52}
	TF32   = Format{8, 10} // without the 13 zeros below it
)

// Mode is a rounding direction, by the name of its modifier.
type Mode string

func (f Format) bias() int        { return 1<<(f.Exponent-1) - 1 }
func (f Format) infinity() uint64 { return (1<<f.Exponent - 1) << f.Mantissa }
func (f Format) sign() uint64     { return 1 << (f.Exponent + f.Mantissa) }
func (f Format) mask() uint64     { return f.sign()<<1 - 1 }
func (f Format) isNaN(x uint64) bool {
	return x&f.mask()&^f.sign() > f.infinity()
}

// nan is the NaN that GPUs make: with all bits but the sign, or of doubles with the sign and the
// quiet bit.
func (f Format) nan() uint64 {
	if f == Double {
		return 0xfff8 << 48
	}
	return f.sign() - 1
}

// value is what the bits stand for. A double holds it exactly.
func (f Format) value(x uint64) float64 {
	e, m := int(x>>f.Mantissa)&(1<<f.Exponent-1), x&(1<<f.Mantissa-1)
	v := math.Ldexp(float64(m), 1-f.bias()-f.Mantissa)
	switch {
	case f.isNaN(x):
		return math.NaN()
	case e == 1<<f.Exponent-1:
		v = math.Inf(1)
	case e > 0:
		v = math.Ldexp(float64(m|1<<f.Mantissa), e-f.bias()-f.Mantissa)
	}
	if x&f.sign() != 0 {
		v = -v
	}
	return v
}

// round rounds a number other than zero. The precision of x must be so large that digits which x
// lacks cannot matter.
func (f Format) round(x *big.Float, mode Mode) uint64 {
	negative := x.Sign() < 0
	e := max(x.MantExp(nil)-1, 1-f.bias())
	scaled := new(big.Float).SetMantExp(new(big.Float).Abs(x), f.Mantissa-e)
	whole, _ := scaled.Int(nil)
	rest := new(big.Float).Sub(scaled, new(big.Float).SetPrec(scaled.Prec()).SetInt(whole))
	half := rest.Cmp(big.NewFloat(0.5))
	up := false
	switch mode {
	case "rn":
		up = half > 0 || half == 0 && whole.Bit(0) != 0
	case "rna":
		up = half >= 0
	case "rm":
		up = negative && rest.Sign() != 0
	case "rp":
		up = !negative && rest.Sign() != 0
	}
	n := whole.Uint64()
	if up {
		n++
	}
	out := uint64(e-1+f.bias())<<f.Mantissa + n
	if e > f.bias() || out >= f.infinity() {
		out = f.infinity()
		if mode == "rz" || mode == "rm" && !negative || mode == "rp" && negative {
			out--
		}
	}
	if negative {
		out |= f.sign()
	}
	return out
}

// encode rounds a double, which may be zero, infinite or a NaN.
func (f Format) encode(x float64, mode Mode) uint64 {
	sign := uint64(0)
	if math.Signbit(x) {
		sign = f.sign()
	}
	switch {
	case x != x:
		return f.nan()
	case x == 0:
		return sign
	case math.IsInf(x, 0):
		return sign | f.infinity()
	}
	return f.round(big.NewFloat(x), mode)
}

func (f Format) flush(x uint64) uint64 {
	if x&f.infinity() == 0 {
		return x & f.sign()
	}
	return x
}

// saturate is .sat: [0, 1], and 0 for a NaN.
func (f Format) saturate(x uint64) uint64 {
	return f.encode(max(0, min(1, nanTo(f.value(x), 0))), "rn") &^ f.sign()
}

// relu is .relu: no negative number, and the canonical NaN.
func (f Format) relu(x uint64) uint64 { return f.encode(max(0, f.value(x)), "rn") }

func nanTo(x, y float64) float64 {
	if x != x {
		return y
	}
	return x
}

// operation is arithmetic in a format: natively, which tells signs and special values, and with the
// precision that exactness takes.
type operation struct {
	operands int
	native   func(x, y, z float64) float64
	exact    func(d, x, y, z *big.Float) *big.Float
}

var operations = map[string]operation{
	"add": {
		2, func(x, y, _ float64) float64 { return x + y }, func(d, x, y, _ *big.Float) *big.Float { return d.Add(x, y) },
	},
	"sub": {
		2, func(x, y, _ float64) float64 { return x - y }, func(d, x, y, _ *big.Float) *big.Float { return d.Sub(x, y) },
	},
	"mul": {
		2, func(x, y, _ float64) float64 { return x * y }, func(d, x, y, _ *big.Float) *big.Float { return d.Mul(x, y) },
	},
	"fma": {
		3, math.FMA, func(d, x, y, z *big.Float) *big.Float { return d.Add(new(big.Float).SetPrec(d.Prec()).Mul(x, y), z) },
	},
	"div": {
		2, func(x, y, _ float64) float64 { return x / y }, func(d, x, y, _ *big.Float) *big.Float { return d.Quo(x, y) },
	},
	"rcp": {
		1, func(x, _, _ float64) float64 { return 1 / x },
		func(d, x, _, _ *big.Float) *big.Float { return d.Quo(big.NewFloat(1), x) },
	},
	"sqrt": {
		1, func(x, _, _ float64) float64 { return math.Sqrt(x) },
		func(d, x, _, _ *big.Float) *big.Float { return d.Sqrt(x) },
	},
}

// precision holds any sum of products of doubles.
const precision = 4400

// arithmetic is an operation that rounds once.
func (f Format) arithmetic(name string, mode Mode) Func {
	return f.rounded(name, mode, func(x *big.Float) uint64 { return f.round(x, mode) })
}

// flushing is arithmetic with .ftz: a result that is subnormal when it is rounded without a bound on the exponent is a
// zero. Operands are flushed by the caller.
func (f Format) flushing(name string, mode Mode) Func {
	return f.rounded(name, mode, func(x *big.Float) uint64 { return f.roundFlushed(x, mode) })
}

func (f Format) roundFlushed(x *big.Float, mode Mode) uint64 {
	wide := Format{Double.Exponent, f.Mantissa}
	if math.Abs(wide.value(wide.round(x, mode))) < f.value(1<<f.Mantissa) {
		return truth(x.Sign() < 0, f.sign())
	}
	return f.round(x, mode)
}

// rounded is an operation whose exact result is rounded by a function.
func (f Format) rounded(name string, mode Mode, round func(x *big.Float) uint64) Func {
	op := operations[name]
	prec := uint(precision)
	if name == "div" || name == "rcp" || name == "sqrt" {
		prec = 300
	}
	return func(a, b, c uint64) uint64 {
		in := []uint64{a & f.mask(), b & f.mask(), c & f.mask()}[:op.operands]
		var v [3]float64
		var x [3]*big.Float
		finite := true
		for i := range in {
			v[i] = f.value(in[i])
			if finite = finite && !math.IsInf(v[i], 0) && v[i] == v[i]; finite {
				x[i] = big.NewFloat(v[i])
			}
		}
		native := op.native(v[0], v[1], v[2])
		if native != native {
			return f.passNaN(name, in)
		}
		if !finite || (name == "div" && v[1] == 0) || name == "rcp" && v[0] == 0 {
			return f.encode(native, "rn")
		}
		exact := op.exact(new(big.Float).SetPrec(prec), x[0], x[1], x[2])
		if exact.Sign() != 0 {
			return round(exact)
		}
		switch {
		case opposite(name, v):
			native = truthOf(mode == "rm", -1, 1)
		case name == "fma": // whose native product may have vanished
			native = v[2]
		}
		return f.encode(math.Copysign(0, native), "rn")
	}
}

// opposite reports whether a sum that is zero adds numbers of different signs.
func opposite(name string, v [3]float64) bool {
	x, y := v[0], v[1]
	switch name {
	case "sub":
		y = -y
	case "fma":
		x, y = math.Copysign(1, x)*math.Copysign(1, y), v[2]
	case "add":
	default:
		return false
	}
	return math.Signbit(x) != math.Signbit(y)
}

func truthOf(ok bool, yes, no float64) float64 {
	if ok {
		return yes
	}
	return no
}

// passNaN is the NaN that comes out. Of doubles an operand that is a NaN passes on its sign and
// payload, in the order in which GPUs look at them.
func (f Format) passNaN(name string, in []uint64) uint64 {
	order := map[string][]int{
		"add": {1, 0}, "sub": {1, 0}, "mul": {1, 0}, "div": {0, 1}, "fma": {1, 2, 0}, "rcp": {0}, "sqrt": {0},
	}[name]
	for _, i := range order {
		if f == Double && f.isNaN(in[i]) {
			return in[i] | 1<<51
		}
	}
	return f.nan()
}
