package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"gpurun/cudart"
)

// kernel is a row of a family's table.
type kernel struct {
	entry  string
	launch cudart.Launch
	args   []arg
}

// family is a source and its kernels, which are launched one after the other. Data are made for each run.
type family struct {
	module  string
	kernels func(r *rand.Rand) []kernel
}

// arg is an argument: a value, or the address of a buffer.
type arg struct {
	value     []byte // little-endian; nil for a buffer
	alignment int    // of the value, as C aligns its type
	buffer    []byte // contents before the launch
	check     func(got []byte) error
	exact     bool // a GPU must give the bits of the simulator
}

// value passes a number.
func value[T any](x T) arg {
	bits := encode(x)
	return arg{value: bits, alignment: len(bits)}
}

// structure passes a struct without padding, whose widest member has a given size.
func structure[T any](x T, alignment int) arg { return arg{value: encode(x), alignment: alignment} }

// in is a buffer that the kernel only reads: it must not change.
func in[T any](x []T) arg { return inout(x, x) }

// inout is a buffer with contents before and after the launch.
func inout[T any](x, want []T) arg {
	bits := encode(want)
	check := func(got []byte) error {
		if bytes.Equal(bits, got) {
			return nil
		}
		return firstDifference(want, decode[T](got))
	}
	return arg{buffer: encode(x), check: check, exact: true}
}

// out is a buffer that the kernel fills.
func out[T any](want []T) arg { return inout(poison[T](len(want)), want) }

// near is a buffer that the kernel fills with numbers that may be wrong by a bound, which depends on the one that
// is wanted.
func near[T float32 | float64](want []float64, bound func(want float64) float64) arg {
	return checked(poison[T](len(want)), func(got []T) error {
		return within(want, fill(len(got), func(i int) float64 { return float64(got[i]) }), bound)
	})
}

func within(want, got []float64, bound func(want float64) float64) error {
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= bound(w)) {
			return fmt.Errorf("element %d is %g, want %g within %g", i, got[i], w, bound(w))
		}
	}
	return nil
}

// deterministic marks a result that has a bound only because its reference is computed otherwise.
func (a arg) deterministic() arg {
	a.exact = true
	return a
}

// relative is a bound of so many parts of the number and an absolute part.
func relative(part, absolute float64) func(float64) float64 {
	return func(want float64) float64 { return part*math.Abs(want) + absolute }
}

// checked is a buffer with contents before the launch and a test of those after it. They may differ between runs.
func checked[T any](x []T, check func(got []T) error) arg {
	return arg{buffer: encode(x), check: func(got []byte) error { return check(decode[T](got)) }}
}

// poison is what buffers hold that a kernel shall fill.
func poison[T any](n int) []T {
	var zero T
	return decode[T](bytes.Repeat([]byte{0xa5}, n*binary.Size(zero)))
}

func encode(x any) []byte {
	bits, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil {
		panic(err) // a type without a fixed size: a mistake in a table
	}
	return bits
}

func decode[T any](bits []byte) []T {
	var zero T
	x := make([]T, len(bits)/binary.Size(zero))
	if _, err := binary.Decode(bits, binary.LittleEndian, x); err != nil {
		panic(err)
	}
	return x
}

func firstDifference[T any](want, got []T) error {
	count, first := 0, 0
	for i := len(want) - 1; i >= 0; i-- {
		if !bytes.Equal(encode(want[i]), encode(got[i])) {
			count, first = count+1, i
		}
	}
	const text = "%d of %d elements differ; element %d is %v, want %v"
	return fmt.Errorf(text, count, len(want), first, got[first], want[first])
}

// fill makes n elements.
func fill[T any](n int, f func(i int) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

// words are random, and floats and doubles between -1 and 1.
func words(r *rand.Rand, n int) []uint32 { return fill(n, func(int) uint32 { return r.Uint32() }) }

// below are random words less than a limit.
func below(r *rand.Rand, n int, limit uint32) []uint32 {
	return fill(n, func(int) uint32 { return r.Uint32N(limit) })
}

func randomBytes(r *rand.Rand, n int) []uint8 {
	return fill(n, func(int) uint8 { return uint8(r.Uint32()) })
}

func floats(r *rand.Rand, n int) []float32 {
	return fill(n, func(int) float32 { return float32(2*r.Float64() - 1) })
}

func doubles(r *rand.Rand, n int) []float64 {
	return fill(n, func(int) float64 { return 2*r.Float64() - 1 })
}
