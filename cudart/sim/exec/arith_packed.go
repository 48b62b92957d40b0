package exec

import "gpurun/cudart/sim/ptx"

// packedInteger compiles add, min and max on .u16x2 and .s16x2.
func (c *compiler) packedInteger(o *op, t ptx.Type) {
	c.needs(90, 8, 0)
	signed := t.Class == ptx.Signed
	relu := signed && c.in.Op != "add" && c.has("relu")
	switch c.in.Op {
	case "add":
		o.alu = addHalves
	case "min":
		o.alu = lift2(eachHalf(pickBySign(signed, minOf[uint16], minOf[int16]), relu))
	case "max":
		o.alu = lift2(eachHalf(pickBySign(signed, maxOf[uint16], maxOf[int16]), relu))
	}
	c.dstSrc(o, t, t, t)
}

func pickBySign[F any](signed bool, u, s F) F {
	if signed {
		return s
	}
	return u
}

// addHalves adds the halves of 32 bits. The carry out of the lower half is taken back.
func addHalves(d, a, b, _ *lanes) {
	for i := range d {
		x, y := a[i], b[i]
		d[i] = (x&0x7fff7fff + y&0x7fff7fff) ^ (x^y)&0x80008000
	}
}

func minOf[T integer](a, b uint64) uint64 { return zext(min(T(a), T(b))) }
func maxOf[T integer](a, b uint64) uint64 { return zext(max(T(a), T(b))) }

// eachHalf applies f to the lower and upper 16 bits; relu replaces negative results by 0.
func eachHalf(f func(a, b uint64) uint64, relu bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		low, high := f(a, b), f(a>>16, b>>16)
		if relu {
			low, high = positive[int16](low), positive[int16](high)
		}
		return low | high<<16
	}
}

// positive is .relu.
func positive[T signed](a uint64) uint64 { return zext(max(T(a), 0)) }

// reluInt makes 0 of negative results of f.
func reluInt(f alu) alu {
	return func(d, a, b, c *lanes) {
		f(d, a, b, c)
		for i, x := range d {
			d[i] = positive[int32](x)
		}
	}
}
