package exec

// newTensorTile decodes a descriptor of a matrix in shared memory, PTX ISA section 9.7.16.4.1, and says what it has that is
// not implemented.
func newTensorTile(descriptor uint64, mnMajor bool) (t tile, why string) {
	field := func(at int) uint64 { return descriptor >> at & 0x3fff << 4 }
	t = tile{start: field(0), leading: field(16), stride: field(32), mnMajor: mnMajor, phase: descriptor >> 49 & 7}
	switch mode := descriptor >> 61; mode {
	case 0:
		t.swizzle, t.phase = chunkBytes, 0
	case 1:
		t.swizzle, t.pairs = 128, true
	case 2, 4, 6:
		t.swizzle = 128 >> (mode/2 - 1)
	default:
		return t, "the descriptor's swizzling mode must be 0, 1, 2, 4 or 6"
	}
	switch {
	case descriptor>>46&7 != 1:
		return t, "bits 46 to 48 of the descriptor must be 0b001: descriptors of wgmma do not do"
	case descriptor>>52&1 != 0:
		return t, "an absolute address as leading dimension is not implemented: it is for rows of 48 bytes"
	}
	return t, ""
}
