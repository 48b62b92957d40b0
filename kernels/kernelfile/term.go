package kernelfile

import "errors"

// A term is a node of a checked expression.
type term struct {
	op    operation
	value value // of a constant
	name  names
	let   *letTerm
	// buffers are the arguments of offset and length.
	buffers [2]string
	args    []*term
}

// letTerm is an expression of [let], which the terms that use it share.
type letTerm struct {
	name string
	expr Expr
	at   int // among those of the file
}

type letSet map[*letTerm]bool

type operation int

const (
	opConstant operation = iota
	opName
	opLet
	opOffset
	opLength
	opNot
	opAnd
	opOr
	opChoose // args are the condition and its two values
	opNegate
	opFloor
	opCeil
	opMin
	opMax
	opEqual
	opUnequal
	opLess
	opLessOrEqual
	opMore
	opMoreOrEqual
	// From here on, the operations of two numbers: see arithmetic.
	opAdd
	opSubtract
	opMultiply
	opDivide
	opRemainder
	opPower
	opBitAnd
	opBitOr
	opBitXor
	opShiftLeft
	opShiftRight
)

var arithmetic = map[operation]func(a, b value) (value, error){
	opAdd:        add,
	opSubtract:   func(a, b value) (value, error) { return add(a, negate(b)) },
	opMultiply:   multiply,
	opDivide:     divide,
	opRemainder:  remainder,
	opPower:      power,
	opBitAnd:     ofBits(func(a, b uint64) (uint64, bool) { return a & b, true }),
	opBitOr:      ofBits(func(a, b uint64) (uint64, bool) { return a | b, true }),
	opBitXor:     ofBits(func(a, b uint64) (uint64, bool) { return a ^ b, true }),
	opShiftLeft:  ofBits(func(a, b uint64) (uint64, bool) { return a << b, a<<b>>b == a }),
	opShiftRight: ofBits(func(a, b uint64) (uint64, bool) { return a >> b, true }),
}

// ofBits makes an operation of one on 64 bits, which reports whether the result fits.
func ofBits(f func(a, b uint64) (uint64, bool)) func(a, b value) (value, error) {
	return func(a, b value) (value, error) {
		a, aWhole := a.whole()
		b, bWhole := b.whole()
		if !aWhole || !bWhole || a.negative || b.negative {
			return value{}, errors.New("takes the bits of a number that is not a whole one from 0 on")
		}
		bits, ok := f(a.num, b.num)
		if !ok {
			return value{}, errTooLarge
		}
		return unsignedValue(bits), nil
	}
}

// eval evaluates a term. Kinds have been checked, so that an error is one of numbers or of memory.
func (t *term) eval(e *env) (value, error) {
	switch t.op {
	case opConstant:
		return t.value, nil
	case opName:
		return e.name(t.name)
	case opLet:
		return e.let(t.let)
	case opOffset:
		return e.distance(t.buffers[0], t.buffers[1])
	case opLength:
		n, err := e.length(t.buffers[0])
		return wholeValue(n), err
	}
	first, err := t.args[0].eval(e)
	if err != nil {
		return value{}, err
	}
	switch t.op {
	case opNot:
		return ofTruth(!first.truth), nil
	case opAnd:
		return t.unless(!first.truth, first, e)
	case opOr:
		return t.unless(first.truth, first, e)
	case opChoose:
		if first.truth {
			return t.args[1].eval(e)
		}
		return t.args[2].eval(e)
	case opNegate:
		return negate(first), nil
	case opFloor:
		return floor(first)
	case opCeil:
		return ceil(first)
	case opMin, opMax:
		return t.extreme(first, e)
	}
	second, err := t.args[1].eval(e)
	if err != nil {
		return value{}, err
	}
	if f, ok := arithmetic[t.op]; ok {
		return f(first, second)
	}
	return ofTruth(t.compare(first, second)), nil
}

func ofTruth(b bool) value { return value{kind: truth, truth: b} }

// unless is the second argument, unless the first decides.
func (t *term) unless(decided bool, first value, e *env) (value, error) {
	if decided {
		return first, nil
	}
	return t.args[1].eval(e)
}

// extreme is the least or the largest argument.
func (t *term) extreme(best value, e *env) (value, error) {
	for _, arg := range t.args[1:] {
		v, err := arg.eval(e)
		if err != nil {
			return value{}, err
		}
		if d := compare(v, best); d < 0 && t.op == opMin || d > 0 && t.op == opMax {
			best = v
		}
	}
	return best, nil
}

func (t *term) compare(a, b value) bool {
	switch {
	case a.kind == word:
		return (a.word == b.word) == (t.op == opEqual)
	case a.kind == truth:
		return (a.truth == b.truth) == (t.op == opEqual)
	}
	d := compare(a, b)
	switch t.op {
	case opEqual:
		return d == 0
	case opUnequal:
		return d != 0
	case opLess:
		return d < 0
	case opLessOrEqual:
		return d <= 0
	case opMore:
		return d > 0
	}
	return d >= 0
}
