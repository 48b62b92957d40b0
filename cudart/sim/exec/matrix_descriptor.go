package exec

import "fmt"

// tile is a matrix in shared memory that a matrix descriptor describes, PTX ISA,
// "Asynchronous Warpgroup Level Matrix Shared Memory Layout". It is made of
// chunks of 16 bytes along the dimension that is contiguous: K, or with mnMajor
// the rows of A or the columns of B, which are called rows here.
type tile struct {
	start           uint64 // within shared memory
	leading, stride uint64 // bytes
	swizzle         uint64 // bytes of a swizzled row: 32, 64 or 128, and 16 without
	mnMajor         bool
	pairs           bool   // chunks are swizzled in pairs, in patterns of four rows: 128 bytes with 32-byte atomicity
	phase           uint64 // the matrix base offset: the number, modulo 8, of the 128 bytes in which the pattern begins
}

// chunkBytes is the unit that swizzling moves about, and rowOfK the bytes of a row along K; those of B are twice as many
// where A is sparse.
const (
	chunkBytes = 16
	rowOfK     = 32
)

// newTile decodes a descriptor, and says what it has that is not implemented.
func newTile(descriptor uint64, mnMajor bool) (t tile, why string) {
	field := func(at int) uint64 { return descriptor >> at & 0x3fff << 4 }
	t = tile{start: field(0), leading: field(16), stride: field(32), mnMajor: mnMajor}
	t.swizzle = [...]uint64{16, 128, 64, 32}[descriptor>>62]
	if base := descriptor >> 49 & 7; base != 0 {
		return t, "a matrix base offset is not implemented: begin the swizzled pattern at a multiple of 8 of its rows"
	}
	return t, ""
}

// chunk is the address of a chunk in shared memory. Along the contiguous
// dimension it is number i; across, j counts elements. This is the table of
// canonical layouts, where T is the elements of a chunk.
func (t *tile) chunk(i, j uint64) uint64 {
	wide := t.swizzle / chunkBytes // chunks of a row of the pattern
	var at uint64
	switch {
	case t.mnMajor && t.pairs:
		at = i%wide*chunkBytes + i/wide*t.leading + j%4*t.swizzle + j/4*t.stride
	case t.mnMajor && wide == 1:
		at = i*t.stride + j%8*chunkBytes + j/8*t.leading
	case t.mnMajor:
		at = i%wide*chunkBytes + i/wide*t.leading + j%8*t.swizzle + j/8*t.stride
	case wide == 1:
		at = j%8*chunkBytes + j/8*t.stride + i*t.leading
	default:
		at = i*chunkBytes + j%8*t.swizzle + j/8*t.stride
	}
	at += t.start
	// Bits 4 and up are exclusive-ored with bits 7 and up, as many as count chunks, or of pairs bits 5 and 6.
	row := at>>7 - t.phase
	if t.pairs {
		return at ^ row&3<<5
	}
	return at ^ row<<4&(t.swizzle-chunkBytes)
}

// loadTile decodes rows of k elements along K, of which a chunk has so many. Where a chunk
// is not in shared memory, or not yet visible there, it stops, and says why.
func loadTile[T any](t *tile, b *block, m matrix[T], per int, decode func(chunk []byte, to []T)) (why string) {
	across, along := len(m.elements)/m.k, m.k
	if t.mnMajor {
		across, along = along, across
	}
	if !t.mnMajor && t.swizzle > chunkBytes && along/per*chunkBytes > int(t.swizzle) {
		return fmt.Sprintf("rows of %d bytes in a pattern of %d are not implemented: swizzle more bytes, or none",
			along/per*chunkBytes, t.swizzle)
	}
	var mixed [chunkBytes]T // of as many rows
	for j := range across {
		for i := range along / per {
			at := t.chunk(uint64(i), uint64(j))
			if why := b.checkChunk(at); why != "" {
				return why
			}
			chunk := b.shared.data[at:][:chunkBytes]
			if !t.mnMajor {
				decode(chunk, m.row(j)[i*per:][:per])
				continue
			}
			decode(chunk, mixed[:per])
			for k, x := range mixed[:per] {
				m.row(i*per + k)[j] = x
			}
		}
	}
	return ""
}

// checkChunk says what is wrong with reading a chunk of shared memory.
func (b *block) checkChunk(at uint64) (why string) {
	switch {
	case at+chunkBytes > b.shared.size:
		return fmt.Sprintf("it reaches to %#x in shared memory of %d bytes", at+chunkBytes, b.shared.size)
	case b.generic.unfenced(at):
		return fmt.Sprintf("shared memory at %#x was stored to, and there was no fence.proxy.async after that", at)
	}
	return ""
}
