package exec

// shuffle compiles shfl.sync.mode.b32 d[|p], a, b, c, membermask.
func (c *compiler) shuffle(o *op) {
	if !c.has("sync") {
		c.fail("shfl needs .sync")
	}
	mode := c.take("up", "down", "bfly", "idx")
	c.takeType()
	c.args(5)
	members := new(int32)
	c.dstWithPred(o)
	c.src(&o.a, 1, b32)
	c.src(&o.b, 2, b32)
	c.src(&o.c, 3, b32)
	c.src(members, 4, b32)
	o.kind = opControl
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		ready, err := w.members(*members, mask)
		if ready == 0 || err != nil {
			return suspended, err
		}
		w.exchange(o, mode, ready)
		return proceed, nil
	}
}

// exchange computes each lane's partner as the PTX manual's pseudocode does.
// The upper half of c cuts the warp into segments, the lower clamps.
func (w *warp) exchange(o *op, mode string, mask uint32) {
	var out lanes
	var valid uint32
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		b, clamp := int(w.regs[o.b][lane]&31), int(w.regs[o.c][lane]&31)
		segment := int(w.regs[o.c][lane] >> 8 & 31)
		top := lane&segment | clamp&^segment
		bottom := lane & segment
		from, ok := partner(mode, lane, b, top, bottom, segment)
		if !ok {
			from = lane
		} else {
			valid |= 1 << lane
		}
		out[lane] = w.regs[o.a][from&31]
	}
	w.setReg(o.d, &out, mask)
	w.setPred(o.p, valid, mask)
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
