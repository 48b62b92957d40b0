package check

import "gpurun/cudart/sim/check/race"

// retired are the warps of a stream's grids that have ended, in the order in which they ended. The warps of later grids
// take their places in the clocks, so that a clock is as long as the warps that run at once.
type retired struct{ threads []*race.Thread }

// successor makes a thread, in the place of a retired one if that happened before.
func (r *retired) successor(d *race.Detector, name Actor, at race.Place, after *race.Moment) *race.Thread {
	if len(r.threads) > 0 {
		if t := d.Succeed(r.threads[0], name, at, after); t != nil {
			r.threads = r.threads[1:]
			return t
		}
	}
	return d.NewThread(name, at, after)
}
