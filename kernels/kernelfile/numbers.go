package kernelfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// numberTypes are the types of numbers among arguments, with their sizes in bytes.
var numberTypes = []struct {
	name  string
	bytes int
}{
	{"i8", 1},
	{"i16", 2},
	{"i32", 4},
	{"i64", 8},
	{"u8", 1},
	{"u16", 2},
	{"u32", 4},
	{"u64", 8},
	{"f16", 2},
	{"bf16", 2},
	{"f32", 4},
	{"f64", 8},
}

// numberBytes is the size of a type of number, or 0.
func numberBytes(name string) int {
	for _, t := range numberTypes {
		if t.name == name {
			return t.bytes
		}
	}
	return 0
}

func numberTypeNames() []string {
	var all []string
	for _, t := range numberTypes {
		all = append(all, t.name)
	}
	return all
}

// encode writes a number of a type to the front of to, in the order of bytes of the GPU.
func encode(to []byte, name string, v value) error {
	bits, err := bitsOf(name, v)
	if err != nil {
		return err
	}
	switch numberBytes(name) {
	case 1:
		to[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(to, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(to, uint32(bits))
	default:
		binary.LittleEndian.PutUint64(to, bits)
	}
	return nil
}

// floatTypes are the types of floats, with the bits of infinity, which are all those of the exponent.
var floatTypes = map[string]struct {
	encode   func(float64) uint64
	infinity uint64
}{
	"f16":  {halfBits, 0x7c00},
	"bf16": {bfloat16Bits, 0x7f80},
	"f32":  {func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }, 0x7f80_0000},
	"f64":  {math.Float64bits, 0x7ff0_0000_0000_0000},
}

// bitsOf are the bits of a number of a type. The error is the end of a sentence about the expression.
func bitsOf(name string, v value) (uint64, error) {
	if f, ok := floatTypes[name]; ok {
		bits := f.encode(v.float())
		if bits&f.infinity == f.infinity {
			return 0, fmt.Errorf("is %s, which %s cannot hold", v, name)
		}
		return bits, nil
	}
	n, ok := v.whole()
	if !ok {
		return 0, fmt.Errorf("is %s, which is not a whole number: write ceil(...) or floor(...)", v)
	}
	width := uint(8 * numberBytes(name))
	most := uint64(1)<<(width-1) - 1 + uint64(1)<<(width-1)
	least := uint64(0)
	if name[0] == 'i' {
		most /= 2
		least = most + 1
	}
	switch {
	case !n.negative && n.num <= most:
		return n.num, nil
	case n.negative && n.num <= least:
		return -n.num, nil
	}
	return 0, fmt.Errorf("is %s, which %s cannot hold", n, name)
}

// bfloat16Bits keeps the upper half of a float32, rounded to the nearest, ties to even.
func bfloat16Bits(f float64) uint64 {
	b := math.Float32bits(float32(f))
	return uint64((b + 0x7fff + b>>16&1) >> 16)
}

// halfBits rounds to binary16: to the nearest, ties to even. What is too large becomes infinity.
func halfBits(f float64) uint64 {
	const mantissaBits, bias, infinity = 10, 15, 31 << 10
	sign := uint64(0)
	if math.Signbit(f) {
		sign, f = 1<<15, -f
	}
	if f == 0 {
		return sign
	}
	_, exponent := math.Frexp(f)       // f is in [0.5, 1) * 2^exponent
	exponent = max(exponent-1, 1-bias) // that of subnormal numbers is the least
	units := math.RoundToEven(math.Ldexp(f, mantissaBits-exponent))
	// The first bit of the mantissa of a normal number is implicit, and adds one to the exponent.
	bits := uint64(exponent+bias-1)<<mantissaBits + uint64(units)
	return sign | min(bits, infinity)
}

// tensorTypes are the element types of tensor maps, by the numbers of cudart.TensorType.
var tensorTypes = []string{
	"u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz",
}

// tensorTypeIndex is the number of a tensor map's element type; aliases are the names of element types.
func tensorTypeIndex(name string) (int, bool) {
	aliases := map[string]string{
		"uint8": "u8", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64", "half": "f16", "float": "f32",
		"double": "f64", "bfloat16": "bf16",
	}
	if short, ok := aliases[name]; ok {
		name = short
	}
	at := slices.Index(tensorTypes, name)
	return at, at >= 0
}
