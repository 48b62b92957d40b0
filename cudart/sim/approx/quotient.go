package approx

// Div is div.approx.f32: a times the reciprocal of b, which is 0 where b is above 2^126. Without .ftz
// both are scaled where b is subnormal.
func Div(a, b uint32, ftz bool) uint32 {
	if ftz {
		return timesFlushed(flush(a), rcp(b))
	}
	if subnormal(b) {
		a, b = times(a, twoTo24), times(b, twoTo24)
	}
	return times(a, rcp(b))
}

// DivFull is div.full.f32, which scales both also where b is above 2^126.
func DivFull(a, b uint32, ftz bool) uint32 {
	if huge(b) {
		if ftz {
			a = flush(a)
		}
		a, b = times(a, quarter), times(b, quarter)
		if ftz {
			a = flush(a)
		}
	}
	return Div(a, b, ftz)
}
