package exec

// shuffle compiles shfl.sync.mode.b32 d[|p], a, b, c, membermask.
func (c *compiler) shuffle(o *op) {
	m := c.meeting()
	mode := c.take("up", "down", "bfly", "idx")
	c.takeType()
	c.args(5)
	c.dstWithPred(o)
	c.src(&o.a, 1, b32)
	c.src(&o.b, 2, b32)
	c.src(&o.c, 3, b32)
	c.src(&m.members, 4, b32)
	m.exchange = func(v *exchanged, group uint32) { v.shuffle(mode, group) }
	c.meets(o, m)
}

// shuffle computes each lane's partner as the PTX manual's pseudocode does.
// The upper half of c cuts the warp into segments, the lower clamps.
func (v *exchanged) shuffle(mode string, group uint32) {
	a, b, c := v.in[0], v.in[1], v.in[2]
	for m := group; m != 0; m &= m - 1 {
		lane := lowest(m)
		distance, clamp := int(b[lane]&31), int(c[lane]&31)
		segment := int(c[lane] >> 8 & 31)
		top := lane&segment | clamp&^segment
		bottom := lane & segment
		from, ok := partner(mode, lane, distance, top, bottom, segment)
		if !ok {
			from = lane
		} else {
			v.pred |= 1 << lane
		}
		v.out[lane] = a[from&31]
	}
}

func partner(mode string, lane, b, top, bottom, segment int) (from int, ok bool) {
	switch mode {
	case "up":
		return lane - b, lane-b >= top
	case "down":
		return lane + b, lane+b <= top
	case "bfly":
		return lane ^ b, lane^b <= top
	}
	from = bottom | b&^segment
	return from, from <= top
}
