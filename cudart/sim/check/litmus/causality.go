package litmus

// causality computes base causality order and causality order, and reports whether the order of fences agrees.
func (x *execution) causality(synchronizes relation) bool {
	all := set(1)<<len(x.events) - 1 // 64 events: the shift gives 0, and 0 - 1 is all of them
	before := x.po.optional(all)
	step := synchronizes.union(x.fences, x.barrier)
	x.base = before.then(step).then(before).closure().union(x.po)
	for a, to := range x.fences { // axiom Fence-SC; such an order would only add to causality
		contradicted := false
		to.each(func(b int) { contradicted = contradicted || x.base.has(b, a) })
		if contradicted {
			return false
		}
	}
	preserved := x.preserved()
	x.cause = preserved.union(x.observed.then(preserved))
	return true
}

// preserved is proxy-preserved base causality order. Between two accesses to the same address it is base causality,
// if both use the generic proxy, or both the same proxy in one CTA. Otherwise a proxy fence has to lie between them in
// base causality: one for each other proxy, in the CTA of that access, and one for aliases if the addresses differ.
func (x *execution) preserved() relation {
	generic := x.where(func(e *event) bool { return e.proxy == Generic }) & x.memory
	if generic == x.memory && !x.aliases() {
		return x.base.intersect(x.vloc)
	}
	near := x.relation() // same proxy and CTA
	for a := range x.events {
		for b := range x.events {
			if x.events[a].proxy == x.events[b].proxy && x.events[a].proxy != NoProxy && x.sameCTA(a, b) {
				near.add(a, b)
			}
		}
	}
	fences := x.where(func(e *event) bool { return e.kind == fence || e.kind == proxyFence && e.proxy != Alias })
	alias := x.where(func(e *event) bool { return e.kind == proxyFence && e.proxy == Alias })
	same := x.base.intersect(near)
	// leaves and enters are base causality from an access to where its value is generic, and from there to an access.
	leaves := x.base.from(generic).union(same.from(x.memory).to(fences).then(x.base))
	arrives := same.from(fences).to(x.memory)
	enters := x.base.to(generic).union(x.base.then(arrives))
	direct := x.base.from(generic).to(generic).union(same.from(x.memory).to(x.memory),
		same.from(x.memory).to(fences).then(x.base.to(generic)),
		x.base.from(generic).then(arrives),
		same.from(x.memory).to(fences).then(x.base).then(arrives))
	return direct.intersect(x.vloc).union(leaves.to(alias).then(enters).intersect(x.loc))
}

// aliases reports whether two names of the test have the same memory and different addresses.
func (x *execution) aliases() bool {
	for i := range x.events {
		if x.loc[i] != x.vloc[i] {
			return true
		}
	}
	return false
}
