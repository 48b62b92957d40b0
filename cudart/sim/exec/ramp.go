package exec

import "gpurun/cudart/sim/ptx"

// ramp is the value of a register whose lanes count evenly: lane i holds
// base + i*step. Addresses and loop counters do, and one number for all lanes is a ramp
// with step 0. What depends on ramps alone is computed once for the warp.
type ramp struct{ base, step uint64 }

// onRamps computes an op's result where its sources are ramps; ok is false where
// the result may be none. It must agree with the op's alu.
type onRamps func(a, b, c ramp) (r ramp, ok bool)

// steepest bounds the steps, up or down, with which lanes are compared, and counted in
// fewer than 64 bits, so that 32 of them span less than 2^37.
const steepest = 1 << 32

func (r ramp) at(lane int) uint64 { return r.base + uint64(lane)*r.step }
func (r ramp) last() uint64       { return r.at(31) }
func (r ramp) uniform() bool      { return r.step == 0 }
func (r ramp) gentle() bool       { return r.step+steepest <= 2*steepest }

func (r ramp) plus(s ramp) ramp    { return ramp{r.base + s.base, r.step + s.step} }
func (r ramp) minus(s ramp) ramp   { return ramp{r.base - s.base, r.step - s.step} }
func (r ramp) times(k uint64) ramp { return ramp{r.base * k, r.step * k} }

// spread writes the lanes.
func (r ramp) spread(to *lanes) {
	v := r.base
	for i := range to {
		to[i] = v
		v += r.step
	}
}

// low is the ramp of the low bits of each lane, unless a carry from them to the others lies
// between two lanes.
func (r ramp) low(bits int) (ramp, bool) {
	if bits == 64 {
		return r, true
	}
	ok := r.gentle() && r.base>>bits == r.last()>>bits
	return ramp{r.base & widthMask(bits), r.step}, ok
}

// extended is the ramp of 64-bit lanes that hold those of r, of type t, sign- or
// zero-extended.
func (r ramp) extended(t ptx.Type) (ramp, bool) {
	if t.Bits == 64 {
		return r, true
	}
	r, ok := r.low(t.Bits)
	if t.Class != ptx.Signed {
		return r, ok
	}
	sign := t.Bits - 1
	return ramp{extend(r.base, t), r.step}, ok && r.base>>sign == r.last()>>sign
}

// modulo wraps a function that computes modulo 2^64 for results of type t, of which the
// low bits depend on those of the sources alone.
func modulo(t ptx.Type, f onRamps) onRamps {
	switch {
	case t.Lanes == 1 && t.Bits == 64:
		return f
	case t.Lanes != 1 || t.Bits != 32:
		return nil
	}
	return func(a, b, c ramp) (ramp, bool) {
		r, ok := f(a, b, c)
		if !ok {
			return r, false
		}
		return r.low(32)
	}
}

func addRamps(a, b, _ ramp) (ramp, bool) { return a.plus(b), true }
func subRamps(a, b, _ ramp) (ramp, bool) { return a.minus(b), true }
func sameRamp(a, _, _ ramp) (ramp, bool) { return a, true }

// madRamps needs a factor that is the same for all lanes.
func madRamps(a, b, c ramp) (ramp, bool) {
	if !b.uniform() {
		a, b = b, a
	}
	return a.times(b.base).plus(c), b.uniform()
}

// madWideRamps is madRamps with factors of type t.
func madWideRamps(t ptx.Type) onRamps {
	if t.Bits != 32 {
		return nil
	}
	return func(a, b, c ramp) (ramp, bool) {
		a, okA := a.extended(t)
		b, okB := b.extended(t)
		r, ok := madRamps(a, b, c)
		return r, ok && okA && okB
	}
}

// shlRamps shifts by a count below the width of t.
func shlRamps(t ptx.Type) onRamps {
	return modulo(t, func(a, n, _ ramp) (ramp, bool) {
		count := uint64(uint32(n.base))
		return a.times(1 << count), n.uniform() && count < uint64(t.Bits)
	})
}

// widenRamps converts an integer to one of 64 bits, or cuts it off.
func widenRamps(to, from ptx.Type) onRamps {
	return modulo(to, func(a, _, _ ramp) (ramp, bool) { return a.extended(from) })
}

// compareRamps compares lane by lane.
type compareRamps func(a, b ramp) (mask uint32, ok bool)

// ramps compares integers of type t.
func (r relation) ramps(t ptx.Type) compareRamps {
	if t.IsFloat() || t.Lanes != 1 || t.Bits < 32 || r.un {
		return nil
	}
	return func(a, b ramp) (uint32, bool) {
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

// number is r with lanes extended to 64 bits, if none of them is so large that differences
// would overflow.
func (r ramp) number(t ptx.Type) (ramp, bool) {
	const large = 1 << 61
	r, ok := r.extended(t)
	small := r.base+large < 2*large // between -large and large
	if t.Class != ptx.Signed {
		small = r.base < large && r.last() < large
	}
	return r, ok && small && r.gentle()
}
