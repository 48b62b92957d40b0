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
		for i := 0; ; i++ {
			a := shape
			for m := mask; m != 0; m &= m - 1 {
				lane := lowest(m)
				addr := addresses[lane] + o.mem.bias
				if r, _ := w.grid.multicast(addr); i < len(r.Members) {
					a.Lanes |= 1 << lane
					a.Addresses[lane] = r.Members[i].Base + addr - r.Base
				}
			}
			if a.Lanes == 0 {
				return nil
			}
			w.grid.cfg.Observer.Access(w.site(), &a)
		}
	}
}
