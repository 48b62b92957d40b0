package exec

import "slices"

// LaunchObserver is told how grids wait for one another.
type LaunchObserver interface {
	// WaitPrior is called when lanes of a warp go on behind griddepcontrol.wait.
	WaitPrior(at Place)
}

// observePriorGrid makes griddepcontrol.wait tell when it goes on. Launching the dependents orders nothing.
func (c *compiler) observePriorGrid(o *op) {
	if !slices.Contains(c.in.Mods, "wait") {
		return
	}
	wait := o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		v, err := wait(w, o, mask)
		if v == proceed && err == nil {
			w.grid.cfg.Observer.WaitPrior(w.site())
		}
		return v, err
	}
}
