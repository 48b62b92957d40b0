package reference

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"gpurun/kernels/collective"
)

// codec turns numbers into the bits of an element type and back. Elements lie
// in little-endian order, as on every GPU.
type codec struct {
	size   int
	encode func(float32) uint32 // rounds to nearest even
	decode func(uint32) float64
}

func codecOf(d collective.DType) codec {
	switch d.Name {
	case collective.Half.Name:
		return codec{
			size:   2,
			encode: func(f float32) uint32 { return uint32(float16.Fromfloat32(f).Bits()) },
			decode: func(b uint32) float64 { return float64(float16.Frombits(uint16(b)).Float32()) },
		}
	case collective.BFloat16.Name:
		return codec{size: 2, encode: encodeBFloat16, decode: decodeBFloat16}
	default:
		return codec{
			size:   4,
			encode: math.Float32bits,
			decode: func(b uint32) float64 { return float64(math.Float32frombits(b)) },
		}
	}
}

// encodeBFloat16 keeps the upper half of a float32, rounded to nearest even.
func encodeBFloat16(f float32) uint32 {
	b := math.Float32bits(f)
	if f != f {
		return 0x7fff
	}
	return (b + 0x7fff + b>>16&1) >> 16
}

func decodeBFloat16(b uint32) float64 { return float64(math.Float32frombits(b << 16)) }

func (c codec) store(buf []byte, i int64, f float32) {
	if c.size == 2 {
		binary.LittleEndian.PutUint16(buf[2*i:], uint16(c.encode(f)))
		return
	}
	binary.LittleEndian.PutUint32(buf[4*i:], c.encode(f))
}

func (c codec) bits(buf []byte, i int64) uint32 {
	if c.size == 2 {
		return uint32(binary.LittleEndian.Uint16(buf[2*i:]))
	}
	return binary.LittleEndian.Uint32(buf[4*i:])
}
