package exec

import "gpurun/cudart/sim/ptx"

// clocks are the special registers that read the time. A simulated cycle lasts
// a nanosecond.
var clocks = map[string]int{
	"%globaltimer": 0, "%globaltimer_lo": 0, "%globaltimer_hi": 32,
	"%clock": 0, "%clock_hi": 32, "%clock64": 0,
}

func isClock(name string) bool {
	_, ok := clocks[name]
	return ok
}

func (c *compiler) readClock(o *op, name string, t ptx.Type) {
	shift, mask := clocks[name], widthMask(t.Bits)
	c.dst(&o.d, 0, t)
	o.kind = opRun
	o.run = func(w *warp, o *op, active uint32) error {
		now := w.grid.cfg.Clock.Nanoseconds() >> shift & mask
		var out lanes
		for i := range out {
			out[i] = now
		}
		w.setReg(o.d, &out, active)
		return nil
	}
}
