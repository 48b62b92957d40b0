package exec

import "gpurun/cudart/sim/ptx"

// affine is the value of a register whose lane i holds base + i*stride, as addresses often do. A
// uniform value, the same in all lanes, has stride 0. What depends on affine values alone is
// computed once for the warp.
type affine struct{ base, stride uint64 }

// maxStride bounds the absolute stride of values that are compared, or computed in fewer than 64
// bits, so that 32 lanes span less than 2^37.
const maxStride = 1 << 32

func (r affine) at(lane int) uint64 { return r.base + uint64(lane)*r.stride }
func (r affine) last() uint64       { return r.at(31) }
func (r affine) uniform() bool      { return r.stride == 0 }
func (r affine) smallStride() bool  { return r.stride+maxStride <= 2*maxStride }

func (r affine) plus(s affine) affine  { return affine{r.base + s.base, r.stride + s.stride} }
func (r affine) minus(s affine) affine { return affine{r.base - s.base, r.stride - s.stride} }
func (r affine) times(k uint64) affine { return affine{r.base * k, r.stride * k} }

// expandTo writes the lanes.
func (r affine) expandTo(to *lanes) {
	expand(to, r)
}

// low is the affine value of the low bits of each lane. ok is false where a carry out of them occurs
// between two lanes.
func (r affine) low(bits int) (affine, bool) {
	if bits == 64 {
		return r, true
	}
	ok := r.smallStride() && r.base>>bits == r.last()>>bits
	return affine{r.base & widthMask(bits), r.stride}, ok
}

// extended is r, whose lanes have so many bits, sign- or zero-extended to 64 bits.
func (r affine) extended(bits int, signed bool) (affine, bool) {
	if bits == 64 {
		return r, true
	}
	r, ok := r.low(bits)
	if !signed {
		return r, ok
	}
	up := 64 - bits
	return affine{uint64(int64(r.base<<up) >> up), r.stride}, ok && r.base>>(bits-1) == r.last()>>(bits-1)
}

// affineCompare compares lane by lane.
type affineCompare func(a, b affine) (mask uint32, ok bool)

// affine compares integers of type t.
func (r relation) affine(t ptx.Type) affineCompare {
	if t.IsFloat() || t.Lanes != 1 || t.Bits < 32 || r.un {
		return nil
	}
	return func(a, b affine) (uint32, bool) {
		a, okA := a.number(t)
		b, okB := b.number(t)
		if !okA || !okB {
			return 0, false
		}
		d := a.minus(b)
		first, last := r.sign(int64(d.base)), r.sign(int64(d.last()))
		if first == last && (d.uniform() || r.lt != r.gt) {
			return boolMask(first), true
		}
		var m uint32
		for i := range 32 {
			m |= boolMask(r.sign(int64(d.at(i)))) & (1 << i)
		}
		return m, true
	}
}

// scalar compares two integers of type t, as registers hold them.
func (r relation) scalar(t ptx.Type) func(a, b uint64) bool {
	signed, shift := t.Class == ptx.Signed, 64-t.Bits
	return func(a, b uint64) bool {
		a, b = a<<shift, b<<shift
		switch {
		case a == b:
			return r.eq
		case signed && int64(a) < int64(b), !signed && a < b:
			return r.lt
		}
		return r.gt
	}
}

// sign reports whether the relation holds where the difference is d.
func (r relation) sign(d int64) bool {
	switch {
	case d < 0:
		return r.lt
	case d > 0:
		return r.gt
	}
	return r.eq
}

// number is r extended to 64 bits. ok is false where a lane is so large that a difference of two
// would overflow.
func (r affine) number(t ptx.Type) (affine, bool) {
	const large = 1 << 61
	r, ok := r.extended(t.Bits, t.Class == ptx.Signed)
	small := r.base+large < 2*large // between -large and large
	if t.Class != ptx.Signed {
		small = r.base < large && r.last() < large
	}
	return r, ok && small && r.smallStride()
}
