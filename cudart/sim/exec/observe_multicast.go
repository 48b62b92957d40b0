package exec

import "slices"

// observeMulticast makes an access to a multicast address tell of one access to each member.
func (c *compiler) observeMulticast(o *op) {
	shape := ObservedAccess{
		Kind: Updates, Order: o.mem.order.name, Scope: o.mem.order.scope, Bytes: o.mem.size, Elements: max(1, len(o.mem.vector)),
		Multicast: true,
	}
	switch {
	case slices.Contains(c.in.Mods, "ld_reduce"):
		shape.Kind = Reads
	case slices.Contains(c.in.Mods, "st"):
		shape.Kind = Writes
	}
	access := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		w.expandLanes(o.a)
		addresses := w.regs[o.a] // before a load that overwrites them
		if o.mem.order.strong() && w.endsBefore(&ObservedAccess{Kind: shape.Kind, Addresses: addresses}, mask) {
			return errBeforeSync
		}
		if err := access(w, o, mask); err != nil {
			return err
		}
		for lane := range addresses {
			addresses[lane] += o.mem.bias
		}
		w.observeMembers(shape, mask, &addresses)
		return nil
	}
}

// observeMembers tells of one access to each member of the multicast addresses of lanes.
func (w *warp) observeMembers(shape ObservedAccess, mask uint32, addresses *lanes) {
	shape.Multicast, shape.Unchanged = true, 0
	for i := 0; ; i++ {
		a := shape
		a.Lanes = 0
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			if r, _ := w.grid.multicast(addresses[lane]); i < len(r.Members) {
				a.Lanes |= 1 << lane
				a.Addresses[lane] = r.Members[i].Base + addresses[lane] - r.Base
			}
		}
		if a.Lanes == 0 {
			return
		}
		w.grid.cfg.Observer.Access(w.site(), &a)
	}
}

// multicastLanes are the lanes of an access that have a multicast address, among those that the grid has used.
func (w *warp) multicastLanes(a *ObservedAccess) (lanes uint32) {
	if len(w.grid.multicasts) == 0 {
		return 0
	}
	for m := a.Lanes; m != 0; m &= m - 1 {
		if _, ok := w.grid.multicasts[a.Addresses[lowest(m)]>>RegionShift]; ok {
			lanes |= 1 << lowest(m)
		}
	}
	return lanes
}
