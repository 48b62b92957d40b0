package exec

import (
	"encoding/binary"

	"gpurun/cudart"
)

// tensorMagic begins every encoded tensor map, so that kernels which take other
// bytes for one are seen to fail. A GPU's own encoding is secret; this one is the
// simulator's, and all its words have 64 bits: the magic one; bytes of an element,
// dimensions, and swizzle, a byte each; the base; 5 sizes, 4 strides, and the
// extents of the box, 16 bits each.
const tensorMagic = 0x70616d206f736e74

// EncodeTensorMap lays a checked tensor map out in the simulator's encoding.
func EncodeTensorMap(m cudart.TensorMap) (out [cudart.TensorMapBytes]byte) {
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(out[8*i:], v) }
	word(0, tensorMagic)
	word(1, uint64(m.Type.Bytes())|uint64(len(m.Sizes))<<8|uint64(m.Swizzle)<<16)
	word(2, uint64(m.Base))
	for i, n := range m.Sizes {
		word(3+i, uint64(n))
		binary.LittleEndian.PutUint16(out[96+2*i:], uint16(m.Box[i]))
	}
	for i, n := range m.Strides {
		word(8+i, uint64(n))
	}
	return out
}

// tensorMap is a decoded one.
type tensorMap struct {
	element, rank, swizzle uint64
	base                   uint64
	sizes                  [5]int64
	strides                [5]int64 // of all dimensions, in bytes
	box                    [5]int64
}

// decodeTensorMap reads an encoded tensor map; ok is false for other bytes.
func decodeTensorMap(data []byte) (m tensorMap, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
	if word(0) != tensorMagic {
		return m, false
	}
	m.element, m.rank, m.swizzle = word(1)&0xff, word(1)>>8&0xff, word(1)>>16
	m.base = word(2)
	m.strides[0] = int64(m.element)
	for i := range m.rank {
		m.sizes[i] = int64(word(3 + int(i)))
		m.box[i] = int64(binary.LittleEndian.Uint16(data[96+2*i:]))
		if i > 0 {
			m.strides[i] = int64(word(7 + int(i)))
		}
	}
	return m, true
}

// row is the bytes of the box's innermost dimension, and rows how many there are.
func (m *tensorMap) row() uint64 { return uint64(m.box[0]) * m.element }

func (m *tensorMap) rows() uint64 {
	n := uint64(1)
	for i := range m.rank - 1 {
		n *= uint64(m.box[i+1])
	}
	return n
}

// swizzled is where the byte at a shared address really lies: the 16-byte unit
// within each row of the swizzle is exchanged with another, by the bits from 7 on.
// The pattern is that of the addresses, wherever the box begins.
func (m *tensorMap) swizzled(addr uint64) uint64 {
	if m.swizzle == 0 {
		return addr
	}
	units := m.swizzle/16 - 1 // 1, 3 or 7
	return addr ^ addr>>7&units<<4
}
