//go:build !amd64

package tensorcore

// These are for processors that simd.Available accepts.
func decodeHalves(*[8]Element, *[ChunkBytes]byte) {}

func decodeBFloats(*[8]Element, *[ChunkBytes]byte) {}
