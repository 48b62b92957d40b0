package exec

import "math"

// directedOp is an operation in every rounding direction: exact for finite operands, and native, on
// doubles, for those where the result is infinite or a NaN whatever the direction.
type directedOp struct {
	exact  func(x, y, z exact, mode rounding) exact
	native func(a, b, c uint64) uint64
}

var directedOps = map[string]directedOp{
	"add": {
		func(x, y, _ exact, mode rounding) exact { return x.plus(y, mode) },
		func(a, b, _ uint64) uint64 { return add64(a, b) },
	},
	"sub": {
		func(x, y, _ exact, mode rounding) exact { return x.plus(y.negated(), mode) },
		func(a, b, _ uint64) uint64 { return sub64(a, b) },
	},
	"mul": {
		func(x, y, _ exact, _ rounding) exact { return x.times(y) },
		func(a, b, _ uint64) uint64 { return mul64(a, b) },
	},
	"fma": {
		func(x, y, z exact, mode rounding) exact { return x.times(y).plus(z, mode) },
		fma64,
	},
	"div": {
		func(x, y, _ exact, _ rounding) exact { return x.over(y) },
		func(a, b, _ uint64) uint64 { return div64(a, b) },
	},
	"rcp": {
		func(x, _, _ exact, _ rounding) exact { return binary32.unpack(one32).over(x) },
		func(a, _, _ uint64) uint64 { return rcp64(a) },
	},
	"sqrt": {
		func(x, _, _ exact, _ rounding) exact { return x.root() },
		func(a, _, _ uint64) uint64 { return sqrt64(a) },
	},
}

const one32 = 0x3f800000

// directed finds an operation that rounds once, in the direction of the form; nil if there is none.
func (form floatForm) directed(f format) scalarFloat {
	op, mode := form.op, form.mode
	if op == "mad" {
		op = "fma"
	}
	found, ok := directedOps[op]
	if !ok {
		return nil
	}
	operands := floatOperands[op] - 1
	return func(a, b, c uint64) uint64 {
		in := [3]uint64{a, b, c}
		finite := !(op == "div" && b&^f.sign() == 0 || op == "rcp" && a&^f.sign() == 0 || op == "sqrt" && a > f.sign())
		for _, x := range in[:operands] {
			finite = finite && x&f.infinity() != f.infinity()
		}
		if !finite {
			return f.throughDoubles(found.native, in, operands)
		}
		var x [3]exact
		for i := range operands {
			x[i] = f.unpack(in[i])
		}
		d := found.exact(x[0], x[1], x[2], mode)
		if form.ftz {
			return f.roundFlushed(d, mode)
		}
		return f.round(d, mode)
	}
}

// throughDoubles computes a result that a double holds as well as the format does.
func (f format) throughDoubles(native func(a, b, c uint64) uint64, in [3]uint64, operands int) uint64 {
	if f == binary64 {
		return native(in[0], in[1], in[2])
	}
	for i := range operands {
		in[i] = math.Float64bits(f.decode(in[i]))
	}
	return f.encode(f64(native(in[0], in[1], in[2])), toNearestEven)
}
