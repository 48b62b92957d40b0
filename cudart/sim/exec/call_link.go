package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// bindCalls finds the units of a unit's calls, whose code may not be compiled yet.
func (c *compiler) bindCalls(l *linker) {
	for _, site := range c.unit.sites {
		if site.external != nil {
			continue
		}
		site.targets = map[uint64]*callee{}
		for _, name := range site.names {
			if f, ok := l.program.module.Function(name); ok && l.byName[f.Name] != nil {
				site.targets[functionAddress(f)] = l.byName[f.Name].callee
				site.last = l.byName[f.Name].callee
			}
		}
	}
}

// placeFormals keeps registers for the parameters that are registers from the first op on.
func (c *compiler) placeFormals() {
	for _, v := range slices.Concat(c.entry.Results, c.entry.Params) {
		if v.Register {
			c.unit.formals = append(c.unit.formals, 0)
		}
	}
	for i := range c.unit.formals {
		c.use(&c.unit.formals[i], int32(i))
	}
}

// useResults keeps the registers of results until the current op, a return.
func (c *compiler) useResults() {
	i := int32(0)
	for _, v := range c.entry.Results {
		if v.Register {
			c.use(new(int32), i)
			i++
		}
	}
}

// places finds where a function has the values of its results or parameters.
func (u *unit) places(list []*ptx.Var, formals []int32) []place {
	all := make([]place, len(list))
	for i, v := range list {
		all[i] = place{slot: -1, at: u.c.local[v.Name], bytes: v.Size}
		if v.Register {
			all[i].slot, formals = formals[0], formals[1:]
		}
	}
	return all
}

// takeFrameRegisters takes the addresses in the frame from the presets, which are for the kernel's life,
// and finds the places of parameters and results. The registers have been allocated.
func (u *unit) takeFrameRegisters() {
	k := u.c.kernel
	rest := k.presets[:0]
	for _, p := range k.presets {
		if p.frame {
			u.frames = append(u.frames, frameRegister{p.slot, p.value})
		} else {
			rest = append(rest, p)
		}
	}
	k.presets = rest
	results := 0
	for _, v := range u.fn.Results {
		if v.Register {
			results++
		}
	}
	u.results, u.params = u.places(u.fn.Results, u.formals[:results]), u.places(u.fn.Params, u.formals[results:])
}

// finishCalls decides what calls save, and how much local memory a thread has at first.
func (l *linker) finishCalls() {
	reach := l.reachable()
	recursive := false
	for i, u := range l.units {
		for _, site := range u.sites {
			for _, to := range site.targets {
				callee := l.byName[to.name]
				if !u.kernel && (callee == u || reach[callee.index].has(i)) {
					site.saved, site.slots, site.preds = true, u.slots, u.preds
					recursive = true
				}
			}
		}
	}
	l.kernel.local = int(l.localBytes(recursive))
}

// reachable finds the units that each unit may call, through others too.
func (l *linker) reachable() []bitset {
	reach := make([]bitset, len(l.units))
	for i, u := range l.units {
		reach[i] = newBitset(len(l.units))
		for _, site := range u.sites {
			for _, to := range site.targets {
				reach[i].set(l.byName[to.name].index)
			}
		}
	}
	for grew := true; grew; {
		grew = false
		for i := range reach {
			reach[i].each(func(j int) { grew = reach[i].add(reach[j]) || grew })
		}
	}
	return reach
}

// localBytes is the local memory of the deepest chain of calls. With recursion, which has no deepest,
// it is that of all functions: the stack grows from there.
func (l *linker) localBytes(recursive bool) int64 {
	if recursive {
		var sum int64
		for _, u := range l.units {
			sum += u.frame
		}
		return sum
	}
	known := make([]int64, len(l.units))
	var deepest func(u *unit) int64
	deepest = func(u *unit) int64 {
		if known[u.index] == 0 {
			var below int64
			for _, site := range u.sites {
				for _, to := range site.targets {
					below = max(below, deepest(l.byName[to.name]))
				}
			}
			known[u.index] = u.frame + below
		}
		return known[u.index]
	}
	return deepest(l.units[0])
}
