package tensorcore

import (
	"encoding/binary"

	"gpurun/cudart/sim/simd"
)

// ChunkBytes is how many bytes are decoded at a time. They lie next to each other along K.
const ChunkBytes = 16

// DecodeChunk decodes the elements of a chunk. Of 6-bit and 4-bit elements, a chunk has 16 behind one another and is
// padded, unless to has room for 32 of 4 bits.
func (f Format) DecodeChunk(to []Element, chunk *[ChunkBytes]byte) {
	switch f.bits() {
	case 4, 6:
		bits := f.bits()
		for i := range to[:len(to):len(to)] {
			at := i * bits
			to[i] = f.Decode(uint32(binary.LittleEndian.Uint16(pair(chunk, at/8))) >> (at % 8))
		}
	case 8:
		to = to[:16]
		for i, b := range chunk {
			to[i] = f.Decode(uint32(b))
		}
	case 16:
		f.decodeShorts(to[:8], chunk)
	case 32:
		to = to[:4]
		for i := range to {
			to[i] = f.Decode(binary.LittleEndian.Uint32(chunk[4*i:]))
		}
	}
}

func (f Format) decodeShorts(to []Element, chunk *[ChunkBytes]byte) {
	switch {
	case !simd.Available():
		for i := range to {
			to[i] = f.Decode(uint32(binary.LittleEndian.Uint16(chunk[2*i:])))
		}
	case f == Half:
		decodeHalves((*[8]Element)(to), chunk)
	default:
		decodeBFloats((*[8]Element)(to), chunk)
	}
}

// DecodeRegister decodes a register of a warp, of which four lanes hold a chunk, and eight times four lanes eight rows.
// In to, rows begin so many elements apart.
func (f Format) DecodeRegister(to []Element, apart int, register *simd.Lanes) {
	for row := range len(register) / 4 {
		var chunk [ChunkBytes]byte
		for i, v := range register[4*row:][:4] {
			binary.LittleEndian.PutUint32(chunk[4*i:], uint32(v))
		}
		f.DecodeChunk(to[row*apart:], &chunk)
	}
}

// pair is two bytes of a chunk, of which the second may be behind it.
func pair(chunk *[ChunkBytes]byte, at int) []byte {
	if at == ChunkBytes-1 {
		return []byte{chunk[at], 0}
	}
	return chunk[at:]
}
