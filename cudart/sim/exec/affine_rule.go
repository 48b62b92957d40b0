package exec

import "gpurun/cudart/sim/ptx"

// affineRule says what an op's alu does with affine sources. It is data and no function, because a call
// through a pointer takes as long as the rest.
type affineRule struct {
	kind affineKind
	bits uint8 // of the result, 32 or 64
	// Of the sources that are extended to 64 bits first.
	from   uint8
	signed bool
}

type affineKind uint8

const (
	seldomAffine affineKind = iota
	affineCopy
	affineAdd
	affineSub
	affineMad     // a*b + c
	affineMadWide // likewise, with factors that are extended
	affineShl     // a << b
	affineExtend  // a, extended
)

// modulo is the rule of a kind for results of type t, of which the low bits depend on the low bits of the sources
// alone.
func (k affineKind) modulo(t ptx.Type) affineRule {
	if t.Lanes != 1 || t.Bits != 32 && t.Bits != 64 {
		return affineRule{}
	}
	return affineRule{kind: k, bits: uint8(t.Bits)}
}

// extending is likewise, with sources of type from that are extended.
func (k affineKind) extending(t, from ptx.Type) affineRule {
	r := k.modulo(t)
	r.from, r.signed = uint8(from.Bits), from.Class == ptx.Signed
	return r
}

// of computes the op's result; ok is false where it may not be affine.
func (f affineRule) of(a, b, c affine) (r affine, ok bool) {
	switch f.kind {
	case affineCopy:
		return a, true
	case affineAdd:
		r, ok = a.plus(b), true
	case affineSub:
		r, ok = a.minus(b), true
	case affineMad:
		r, ok = a.mad(b, c)
	case affineMadWide:
		a, okA := a.extended(int(f.from), f.signed)
		b, okB := b.extended(int(f.from), f.signed)
		if !okA || !okB {
			return r, false
		}
		r, ok = a.mad(b, c)
	case affineShl:
		count := uint64(uint32(b.base))
		r, ok = a.times(1<<count), b.uniform() && count < uint64(f.bits)
	case affineExtend:
		r, ok = a.extended(int(f.from), f.signed)
	}
	if f.bits == 64 || !ok {
		return r, ok
	}
	return r.low(32)
}

// mad needs a factor that is uniform.
func (r affine) mad(b, c affine) (affine, bool) {
	if !b.uniform() {
		r, b = b, r
	}
	return r.times(b.base).plus(c), b.uniform()
}
