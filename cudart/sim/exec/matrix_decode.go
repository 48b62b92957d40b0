package exec

import (
	"encoding/binary"

	"gpurun/cudart/sim/tensorcore"
)

// The elements of a chunk of shared memory, for wgmma.

// decodeFloats decodes a chunk of floats.
func decodeFloats(f fragment) func(chunk []byte, to []tensorcore.Element) {
	return func(chunk []byte, to []tensorcore.Element) {
		f.format.DecodeChunk(to, (*[chunkBytes]byte)(chunk))
	}
}

// decodeBytes decodes a chunk of integers of 8 bits.
func decodeBytes(f fragment) func(chunk []byte, to []int32) {
	if f.signed {
		return func(chunk []byte, to []int32) {
			for k := range to {
				to[k] = int32(int8(chunk[k]))
			}
		}
	}
	return func(chunk []byte, to []int32) {
		for k := range to {
			to[k] = int32(chunk[k])
		}
	}
}

// decodeWords takes 32 bits at a time.
func decodeWords(chunk []byte, to []uint64) {
	for k := range to {
		to[k] = uint64(binary.LittleEndian.Uint32(chunk[4*k:]))
	}
}
