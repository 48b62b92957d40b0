package exec

// dependentLaunch compiles griddepcontrol, the kernel's part in programmatic
// dependent launch.
func (c *compiler) dependentLaunch(o *op) {
	what := c.take("launch_dependents", "wait")
	c.args(0)
	if m := c.program.module; m.SM < 90 || !m.AtLeast(7, 8) {
		c.fail("griddepcontrol needs target sm_90 and PTX 7.8")
	}
	o.kind = opControl
	switch what {
	case "launch_dependents":
		o.control = launchDependents
	case "wait":
		o.control = awaitPrior
	default:
		c.fail("griddepcontrol is launch_dependents or wait")
	}
}

// launchDependents counts for the whole block. It ends the warp's turn, so that
// the dependent grid overlaps with what follows.
func launchDependents(w *warp, _ *op, _ uint32) (verdict, error) {
	if !w.block.launchedDependents {
		w.block.launchedDependents = true
		w.grid.progress = true
	}
	return yielded, nil
}

func awaitPrior(w *warp, _ *op, _ uint32) (verdict, error) {
	if done := w.grid.cfg.PriorDone; done != nil && !done() {
		return retried, nil
	}
	w.block.view.begin()
	return proceed, nil
}

// LaunchesDependents reports whether each block of the grid has executed
// griddepcontrol.launch_dependents or exited, so that a grid that depends on
// this one may begin.
func (g *Grid) LaunchesDependents() bool {
	if g.next < g.clusterCount {
		return false
	}
	for _, b := range g.blocks {
		if !b.launchedDependents {
			return false
		}
	}
	return true
}
