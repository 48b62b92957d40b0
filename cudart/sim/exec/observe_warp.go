package exec

import "slices"

// WarpObserver is told how the lanes of a warp wait for one another.
type WarpObserver interface {
	// SyncWarp is called when lanes have met at a .sync or .aligned instruction, with all ones where no other lane of
	// the warp is left. Of these instructions PTX lets only bar.warp.sync order accesses to memory.
	SyncWarp(at Place, lanes uint32, ordersMemory bool)
}

// meetingOps are instructions without accesses to memory at which lanes meet. [observeAligned] tells of the others.
var meetingOps = []string{"shfl", "vote", "match", "redux", "elect", "mma", "movmatrix"}

// observeMeeting makes an instruction tell that lanes have met at it.
func (c *compiler) observeMeeting(o *op) {
	switch {
	case o.warpSync:
		sync := o.control
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
			v, err := sync(w, o, mask)
			for left := mask; left != 0 && v == proceed && err == nil; { // each group by its mask
				members := uint32(w.regs[o.a][lowest(left)])
				w.tellMeeting(members, true)
				left &^= members | left&-left
			}
			return v, err
		}
	case !slices.Contains(meetingOps, c.in.Op):
	case o.kind == opRun:
		run := o.run
		o.run = func(w *warp, o *op, mask uint32) error {
			w.tellMeeting(mask, false)
			return run(w, o, mask)
		}
	default:
		meet := o.control
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
			v, err := meet(w, o, mask)
			if v == proceed && err == nil {
				w.tellMeeting(w.current.mask&mask|w.metElsewhere, false)
			}
			return v, err
		}
	}
}

func (w *warp) tellMeeting(lanes uint32, ordersMemory bool) {
	lanes &= w.live
	if lanes == w.live {
		lanes = fullMask
	}
	w.grid.cfg.Observer.SyncWarp(w.site(), lanes, ordersMemory)
}
