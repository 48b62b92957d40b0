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

// affineTest is a comparison of integers; of affine ones it is made for all lanes at once.
type affineTest struct {
	relation relation
	bits     uint8 // 32 or 64; 0 where affine values are not compared
	signed   bool
}

// affine makes the comparison for type t.
func (r relation) affine(t ptx.Type) affineTest {
	if t.IsFloat() || t.Lanes != 1 || t.Bits < 32 || r.un {
		return affineTest{}
	}
	return affineTest{r, uint8(t.Bits), t.Class == ptx.Signed}
}

// of compares lane by lane. ok is false where a difference may overflow.
func (f affineTest) of(a, b affine) (mask uint32, ok bool) {
	if a.stride|b.stride == 0 {
		return boolMask(f.scalar(a.base, b.base)), true
	}
	a, okA := f.number(a)
	b, okB := f.number(b)
	if !okA || !okB {
		return 0, false
	}
	r, d := f.relation, a.minus(b)
	first, last := r.sign(int64(d.base)), r.sign(int64(d.last()))
	if first == last && (d.uniform() || r.lt != r.gt) {
		return boolMask(first), true
	}
	for i := range 32 {
		mask |= boolMask(r.sign(int64(d.at(i)))) & (1 << i)
	}
	return mask, true
}

// scalar compares two values, as registers hold them.
func (f affineTest) scalar(a, b uint64) bool {
	up := 64 - f.bits
	a, b = a<<up, b<<up
	switch {
	case a == b:
		return f.relation.eq
	case f.signed && int64(a) < int64(b), !f.signed && a < b:
		return f.relation.lt
	}
	return f.relation.gt
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
func (f affineTest) number(r affine) (affine, bool) {
	const large = 1 << 61
	r, ok := r.extended(int(f.bits), f.signed)
	small := r.base+large < 2*large // between -large and large
	if !f.signed {
		small = r.base < large && r.last() < large
	}
	return r, ok && small && r.smallStride()
}
