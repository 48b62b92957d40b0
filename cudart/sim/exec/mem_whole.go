package exec

import "unsafe"

// Vector accesses. PTX promises that each element of a vector is accessed at once, and nothing about the
// vector. GPUs do more, and protocols that send data with its flag rest on it. As measured on an H200:
//
//   - An aligned access of up to 8 bytes is one access, vector or not.
//   - One of 16 bytes is one, but for st.volatile, which is two of 8.
//   - Larger ones are accesses of 16 bytes.
//
// What is one access is a piece here. With [Config.TearVectors] each element is a piece of strong accesses,
// and with disorder of all that do not access memory at once. The pieces of an instruction reach memory
// in order, with disorder in any order.
//
// The host has accesses of 16 bytes that other processes see whole if it has AVX: Intel and AMD say so
// of aligned ones. Otherwise a piece of 16 bytes is two of 8 in memory.

// wholeBytes is the largest piece.
const wholeBytes = 16

// word is the bytes of a piece, the first one lowest.
type word [2]uint64

// byte is byte i.
func (v *word) byte(i uintptr) byte { return byte(v[i/8%2] >> (8 * (i % 8))) }

func (v *word) setByte(i uintptr, b byte) {
	shift := 8 * (i % 8)
	v[i/8%2] = v[i/8%2]&^(0xff<<shift) | uint64(b)<<shift
}

// element is element k of those that have a size.
func (v *word) element(k int, size uint64) uint64 {
	at := uint64(k) * size
	return v[at/8%2] >> (8 * (at % 8)) & widthMask(int(8*size))
}

func (v *word) setElement(k int, size, value uint64) {
	at := uint64(k) * size
	v[at/8%2] |= value & widthMask(int(8*size)) << (8 * (at % 8))
}

// pieceOf is the size of the pieces of an access by a GPU.
func pieceOf(a *access) uint64 {
	if a.writes && !a.whole && a.order.name == "volatile" && a.bytes() == wholeBytes {
		return wholeBytes / 2
	}
	return min(a.bytes(), wholeBytes)
}

// pieceBytes is the size of the pieces of an access.
func (w *warp) pieceBytes(a *access) uint64 {
	if w.grid.cfg.TearVectors && !a.whole {
		return a.size
	}
	return a.piece
}

// accessesWhole reports whether the pieces of an access are as large as any.
func (w *warp) accessesWhole(a *access) bool { return w.pieceBytes(a) == min(a.bytes(), wholeBytes) }

// readPiece and writePiece access a piece at once.
func readPiece(p unsafe.Pointer, size uint64) (v word) {
	if size == wholeBytes {
		v[0], v[1] = load16(p)
		return v
	}
	v[0] = readAtomic(p, size)
	return v
}

func writePiece(p unsafe.Pointer, size uint64, v word) {
	if size == wholeBytes {
		store16(p, v[0], v[1])
		return
	}
	writeAtomic(p, size, v[0])
}

// twoLoads and twoStores are load16 and store16 without AVX.
func twoLoads(p unsafe.Pointer) (low, high uint64) {
	return readAtomic(p, 8), readAtomic(unsafe.Add(p, 8), 8)
}

func twoStores(p unsafe.Pointer, low, high uint64) {
	writeAtomic(p, 8, low)
	writeAtomic(unsafe.Add(p, 8), 8, high)
}
