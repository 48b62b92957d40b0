package exec

import (
	"encoding/binary"
	"fmt"

	"gpurun/cudart"
)

// tensorMagic begins every encoded tensor map, so that kernels which take other
// bytes for one are seen to fail. A GPU's own encoding is secret; this one is the
// simulator's.
const tensorMagic = 0x70616d206f736e74

// Where the fields of an encoded tensor map begin, in bytes. Strides and sizes have 64 bits, extents of
// the box 16, and what has no comment a byte. The stride of dimension 0 is not encoded.
const (
	mapMagic   = 0  // 64 bits
	mapType    = 8  // a cudart.TensorType
	mapRank    = 9  // dimensions
	mapSwizzle = 10 // bytes
	mapFill    = 11 // 1 for NaN
	mapBase    = 16 // 64 bits
	mapSizes   = 24
	mapStrides = 64
	mapBox     = 96
	mapSteps   = 106
)

// EncodeTensorMapFor is cudart.Device's EncodeTensorMap, for a device of the simulator or of the race checker. Its error
// is a *cudart.Error.
func EncodeTensorMapFor(device cudart.Info, m cudart.TensorMap) (out [cudart.TensorMapBytes]byte, err error) {
	failure := &cudart.Error{Op: "encoding a tensor map"}
	if device.Major < 9 {
		failure.Code, failure.Detail = cudart.ErrNotSupported, fmt.Sprintf(
			"tensor maps need compute capability 9.0, and the device has %d.%d", device.Major, device.Minor)
		return out, failure
	}
	if err := m.Check(); err != nil {
		failure.Code, failure.Detail = cudart.ErrInvalidValue, err.Error()
		return out, failure
	}
	return EncodeTensorMap(m), nil
}

// EncodeTensorMap lays a checked tensor map out in the simulator's encoding.
func EncodeTensorMap(m cudart.TensorMap) (out [cudart.TensorMapBytes]byte) {
	binary.LittleEndian.PutUint64(out[mapMagic:], tensorMagic)
	out[mapType], out[mapRank], out[mapSwizzle] = byte(m.Type), byte(len(m.Sizes)), byte(m.Swizzle)
	if m.FillNaN {
		out[mapFill] = 1
	}
	binary.LittleEndian.PutUint64(out[mapBase:], uint64(m.Base))
	for i, n := range m.Sizes {
		binary.LittleEndian.PutUint64(out[mapSizes+8*i:], uint64(n))
		binary.LittleEndian.PutUint16(out[mapBox+2*i:], uint16(m.Box[i]))
		out[mapSteps+i] = byte(m.Step(i))
	}
	for i, n := range m.Strides {
		binary.LittleEndian.PutUint64(out[mapStrides+8*i:], uint64(n))
	}
	return out
}

// tensorMap is a decoded one.
type tensorMap struct {
	typ           cudart.TensorType
	element       uint64 // bytes; 0 of elements of less than a byte
	group         int64  // elements that are packed together, with their bytes in the tensor and in shared memory
	packed        uint64
	unpacked      uint64
	rank, swizzle uint64
	fillNaN       bool
	base          uint64
	sizes         [5]int64
	strides       [5]int64 // of all dimensions, in bytes
	box           [5]int64 // elements of the box
	steps         [5]int64 // from one to the next, in elements of the tensor
}

// decodeTensorMap reads an encoded tensor map; ok is false for other bytes.
func decodeTensorMap(data []byte) (m tensorMap, ok bool) {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	m.typ, m.rank, m.swizzle = cudart.TensorType(data[mapType]), uint64(data[mapRank]), uint64(data[mapSwizzle])
	group, inTensor, inShared := m.typ.Group()
	m.element, m.group, m.packed, m.unpacked = uint64(m.typ.Bytes()), int64(group), uint64(inTensor), uint64(inShared)
	if word(mapMagic) != tensorMagic || m.group == 0 || m.rank < 1 || m.rank > 5 {
		return m, false
	}
	m.fillNaN, m.base = data[mapFill] == 1, word(mapBase)
	m.strides[0] = int64(m.element)
	for i := range int(m.rank) {
		m.sizes[i], m.steps[i] = int64(word(mapSizes+8*i)), max(1, int64(data[mapSteps+i]))
		m.box[i] = (int64(binary.LittleEndian.Uint16(data[mapBox+2*i:])) + m.steps[i] - 1) / m.steps[i]
		if i > 0 {
			m.strides[i] = int64(word(mapStrides + 8*(i-1)))
		}
	}
	return m, m.copies()
}

// copies reports whether boxes can be copied as the map says; kernels may have replaced its fields.
func (m *tensorMap) copies() bool {
	for i := range m.rank {
		if m.sizes[i] < 1 || m.box[i] < 1 || m.box[i] > 256 {
			return false
		}
	}
	row := m.row()
	return m.steps[0] == 1 && row%16 == 0 && (m.swizzle == 0 || m.swizzle == row)
}

// row is the bytes of the box's innermost dimension, and rows how many there are.
func (m *tensorMap) row() uint64 { return uint64(m.box[0]/m.group) * m.unpacked }

// counted is the bytes of a box that an mbarrier waits for.
func (m *tensorMap) counted() uint64 { return uint64(m.box[0]/m.group) * m.packed * m.rows() }

// padded reports whether a group takes more bytes in shared memory.
func (m *tensorMap) padded() bool { return m.packed != m.unpacked }

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
