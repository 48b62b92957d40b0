package kernelfile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// A value is what an expression is at a moment. Whole numbers and their quotients are exact: a sign, and a numerator
// and a denominator of 64 bits without a common factor. A number with a point is a float64, and so is the result of
// arithmetic with one.
type value struct {
	kind     valueKind
	negative bool
	num, den uint64 // of an exact number
	real     float64
	truth    bool
	word     string
}

type valueKind int

const (
	exact valueKind = iota
	real
	truth
	word
)

var (
	errTooLarge = errors.New("has a result beyond 64 bits")
	errByZero   = errors.New("divides by zero")
	errNotReal  = errors.New("has a result that is not a finite number")
)

func wholeValue(n int64) value {
	if n < 0 {
		return value{negative: true, num: uint64(-n), den: 1}
	}
	return value{num: uint64(n), den: 1}
}

func unsignedValue(n uint64) value { return value{num: n, den: 1} }

func realValue(f float64) (value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return value{}, errNotReal
	}
	return value{kind: real, real: f}, nil
}

// float is the number as a float64, rounded.
func (v value) float() float64 {
	if v.kind == real {
		return v.real
	}
	f := float64(v.num)
	if v.den != 1 {
		f /= float64(v.den)
	}
	if v.negative {
		return -f
	}
	return f
}

// whole gives a number that is whole in the form of an exact one.
func (v value) whole() (value, bool) {
	const exactFloats = 1 << 53 // from there on not every whole number is a float64
	if v.kind == real {
		return wholeValue(int64(v.real)), v.real == math.Trunc(v.real) && math.Abs(v.real) <= exactFloats
	}
	return v, v.den == 1
}

func (v value) isZero() bool { return v.float() == 0 }

func (v value) String() string {
	switch v.kind {
	case real:
		return strconv.FormatFloat(v.real, 'g', -1, 64)
	case truth:
		return strconv.FormatBool(v.truth)
	case word:
		return v.word
	}
	text := strconv.FormatUint(v.num, 10)
	if v.negative {
		text = "-" + text
	}
	if v.den != 1 {
		text += fmt.Sprintf("/%d", v.den)
	}
	return text
}

func add(a, b value) (value, error) {
	if a.kind == real || b.kind == real {
		return realValue(a.float() + b.float())
	}
	x, y, den := a.num, b.num, uint64(1)
	if a.den != 1 || b.den != 1 {
		var ok [3]bool
		x, ok[0] = product(a.num, b.den)
		y, ok[1] = product(b.num, a.den)
		den, ok[2] = product(a.den, b.den)
		if ok != [3]bool{true, true, true} {
			return value{}, errTooLarge
		}
	}
	switch {
	case a.negative == b.negative:
		sum, carry := bits.Add64(x, y, 0)
		if carry != 0 {
			return value{}, errTooLarge
		}
		return fraction(a.negative, sum, den), nil
	case x >= y:
		return fraction(a.negative, x-y, den), nil
	}
	return fraction(b.negative, y-x, den), nil
}

func negate(a value) value {
	a.negative = a.num != 0 && !a.negative
	a.real = -a.real
	return a
}

func multiply(a, b value) (value, error) {
	if a.kind == real || b.kind == real {
		return realValue(a.float() * b.float())
	}
	// The factors lose their common divisors first, so that only results that are too large overflow.
	left := fraction(a.negative != b.negative, a.num, b.den)
	right := fraction(false, b.num, a.den)
	num, ok := product(left.num, right.num)
	den, fits := product(left.den, right.den)
	if !ok || !fits {
		return value{}, errTooLarge
	}
	return fraction(left.negative, num, den), nil
}

func divide(a, b value) (value, error) {
	switch {
	case b.isZero():
		return value{}, errByZero
	case a.kind == real || b.kind == real:
		return realValue(a.float() / b.float())
	}
	return multiply(a, value{negative: b.negative, num: b.den, den: b.num})
}

// remainder has the sign of a, as in C.
func remainder(a, b value) (value, error) {
	a, aWhole := a.whole()
	b, bWhole := b.whole()
	switch {
	case !aWhole || !bWhole:
		return value{}, errors.New("takes the remainder of a number that is not whole")
	case b.num == 0:
		return value{}, errByZero
	}
	return fraction(a.negative, a.num%b.num, 1), nil
}

func power(a, b value) (value, error) {
	n, ok := b.whole()
	if !ok || n.negative || a.kind == real {
		return realValue(math.Pow(a.float(), b.float()))
	}
	result := unsignedValue(1)
	for exponent := n.num; exponent > 0; exponent /= 2 {
		var err error
		if exponent%2 == 1 {
			if result, err = multiply(result, a); err != nil {
				return value{}, err
			}
		}
		if exponent > 1 {
			if a, err = multiply(a, a); err != nil {
				return value{}, err
			}
		}
	}
	return result, nil
}

// floor and ceil round to whole numbers.
func floor(a value) (value, error) {
	if a.kind == real {
		return realValue(math.Floor(a.real))
	}
	n := a.num / a.den
	if a.negative && a.num%a.den != 0 {
		n++ // a fraction is below the largest number
	}
	return fraction(a.negative, n, 1), nil
}

func ceil(a value) (value, error) {
	down, err := floor(negate(a))
	return negate(down), err
}

func compare(a, b value) int {
	switch {
	case a.kind == real || b.kind == real:
		return cmp.Compare(a.float(), b.float())
	case a.negative != b.negative:
		if a.negative {
			return -1
		}
		return 1
	case a.negative:
		a, b = b, a
	}
	aHigh, aLow := bits.Mul64(a.num, b.den)
	bHigh, bLow := bits.Mul64(b.num, a.den)
	return cmp.Or(cmp.Compare(aHigh, bHigh), cmp.Compare(aLow, bLow))
}

// fraction reduces an exact number.
func fraction(negative bool, num, den uint64) value {
	if den != 1 {
		if d := divisor(num, den); d > 1 {
			num, den = num/d, den/d
		}
	}
	return value{negative: negative && num != 0, num: num, den: den}
}

// divisor is the greatest common one.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func product(a, b uint64) (uint64, bool) {
	high, low := bits.Mul64(a, b)
	return low, high == 0
}
