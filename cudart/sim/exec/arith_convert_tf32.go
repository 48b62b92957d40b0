package exec

// tf32 is the format of .tf32, which is kept in the upper 19 bits of a register.
var tf32 = format{8, 10}

const tf32Shift = 13

// convertTF32 compiles cvt.rna{.satfinite}.tf32.f32 and cvt.{rn,rz}{.satfinite}{.relu}.tf32.f32.
func (c *compiler) convertTF32(o *op, cv conversion) {
	if c.takeType() != typeF32 || cv.integral || cv.sat || cv.ftz || cv.relu && cv.mode == toNearestAway {
		c.fail("this conversion is not implemented")
	}
	switch {
	case cv.satfinite && cv.mode != toNearestAway:
		c.needs(100, 8, 6)
	case cv.mode != toNearestAway:
		c.needs(90, 7, 8)
	}
	o.alu = lift1(func(a uint64) uint64 {
		if binary32.isNaN(a) && cv.mode == toNearestAway { // cut off, which makes infinities of some
			return a &^ widthMask(tf32Shift) & widthMask(32)
		}
		d := tf32.encode(float64(f32(a)), cv.mode)
		if cv.satfinite {
			d = tf32.bound(d)
		}
		if cv.relu {
			d = tf32.rectify(d)
		}
		return d << tf32Shift
	})
	c.dstSrc(o, b32, typeF32)
}
