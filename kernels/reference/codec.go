package reference

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/x448/float16"

	"gpurun/kernels/collective"
)

// codec turns numbers into the bits of a floating-point type, rounding to
// nearest even, and back.
type codec struct {
	encode func(float64) uint64
	decode func(uint64) float64
}

// codecs has the codec of every floating-point type, by its name. Types of 8 and 16 bits round
// correctly if fp32 represents the number exactly.
var codecs = map[string]codec{
	collective.Double.Name: {encode: math.Float64bits, decode: math.Float64frombits},
	collective.Float.Name: {
		encode: func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) },
		decode: func(b uint64) float64 { return float64(math.Float32frombits(uint32(b))) },
	},
	collective.Half.Name: {
		encode: func(f float64) uint64 { return uint64(float16.Fromfloat32(float32(f)).Bits()) },
		decode: func(b uint64) float64 { return float64(float16.Frombits(uint16(b)).Float32()) },
	},
	collective.BFloat16.Name: {encode: encodeBFloat16, decode: decodeBFloat16},
	collective.F8E4M3.Name:   {encode: e4m3.encode, decode: e4m3.decode},
	collective.F8E5M2.Name:   {encode: e5m2.encode, decode: e5m2.decode},
}

// Check returns an error for an element type that the reference does not support.
func Check(d collective.DType) error {
	if _, ok := codecs[d.Name]; !ok && d.Kind == collective.FloatingPoint {
		return fmt.Errorf("the reference does not know the element type %s", d.Name)
	}
	return nil
}

// codecOf returns the codec of a floating-point type that Check accepts.
func codecOf(d collective.DType) codec { return codecs[d.Name] }

// encodeAll encodes numbers as a type. The usual types have loops without a call.
func encodeAll(d collective.DType, to []uint64, from []float64) {
	switch d.Name {
	case collective.Float.Name:
		for i, x := range from {
			to[i] = uint64(math.Float32bits(float32(x)))
		}
	case collective.BFloat16.Name:
		for i, x := range from {
			to[i] = encodeBFloat16(x)
		}
	default:
		c := codecOf(d)
		for i, x := range from {
			to[i] = c.encode(x)
		}
	}
}

// encodeBFloat16 keeps the upper half of a float32, rounded to nearest even.
func encodeBFloat16(f float64) uint64 {
	if math.IsNaN(f) {
		return 0x7fff
	}
	b := math.Float32bits(float32(f))
	return uint64((b + 0x7fff + b>>16&1) >> 16)
}

func decodeBFloat16(b uint64) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }

// float8 lists the finite magnitudes of an 8-bit float in ascending order:
// their index is their code (OCP 8-bit Floating Point Specification, 2023).
type float8 []float64

var (
	e4m3 = magnitudes(4, 7, 0x7e)
	e5m2 = magnitudes(5, 15, 0x7b)
)

func magnitudes(exponentBits, bias, largest int) float8 {
	mantissaBits := 7 - exponentBits
	all := make(float8, largest+1)
	for code := range all {
		exponent, mantissa := code>>mantissaBits, code&(1<<mantissaBits-1)
		if exponent > 0 {
			mantissa += 1 << mantissaBits
		} else {
			exponent = 1
		}
		all[code] = math.Ldexp(float64(mantissa), exponent-bias-mantissaBits)
	}
	return all
}

// encode rounds to the nearest magnitude, ties to the even code, and saturates to the largest.
func (m float8) encode(f float64) uint64 {
	sign := uint64(0)
	if math.Signbit(f) {
		sign = 0x80
	}
	if math.IsNaN(f) {
		return sign | 0x7f
	}
	f = math.Abs(f)
	above := sort.SearchFloat64s(m, f)
	switch {
	case above == len(m):
		return sign | uint64(len(m)-1)
	case above == 0:
		return sign
	}
	below := above - 1
	up, down := m[above]-f, f-m[below]
	if down < up || down == up && below%2 == 0 {
		return sign | uint64(below)
	}
	return sign | uint64(above)
}

func (m float8) decode(b uint64) float64 {
	code := int(b & 0x7f)
	f := math.NaN()
	if code < len(m) {
		f = m[code]
	}
	if b&0x80 != 0 {
		f = -f
	}
	return f
}

// putAll stores the lower bits of elements of so many bytes. Elements lie in little-endian order, as on every GPU.
func putAll(buf []byte, size int, elements []uint64) {
	switch size {
	case 1:
		for i, bits := range elements {
			buf[i] = byte(bits)
		}
	case 2:
		for i, bits := range elements {
			binary.LittleEndian.PutUint16(buf[2*i:], uint16(bits))
		}
	case 4:
		for i, bits := range elements {
			binary.LittleEndian.PutUint32(buf[4*i:], uint32(bits))
		}
	default:
		for i, bits := range elements {
			binary.LittleEndian.PutUint64(buf[8*i:], bits)
		}
	}
}

// getAll loads the bits of elements of so many bytes.
func getAll(to []uint64, buf []byte, size int) {
	switch size {
	case 1:
		for i := range to {
			to[i] = uint64(buf[i])
		}
	case 2:
		for i := range to {
			to[i] = uint64(binary.LittleEndian.Uint16(buf[2*i:]))
		}
	case 4:
		for i := range to {
			to[i] = uint64(binary.LittleEndian.Uint32(buf[4*i:]))
		}
	default:
		for i := range to {
			to[i] = binary.LittleEndian.Uint64(buf[8*i:])
		}
	}
}

// get loads the bits of element i.
func get(buf []byte, i int64, size int) uint64 {
	var element [1]uint64
	getAll(element[:], buf[i*int64(size):], size)
	return element[0]
}
