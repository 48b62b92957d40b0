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
				site.targets[functionOffset(f)] = l.byName[f.Name].callee
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
	recursion := l.recursions()
	recursive := false
	for _, u := range l.units {
		for _, site := range u.sites {
			for _, to := range site.targets {
				callee := l.byName[to.name]
				if !u.kernel && recursion[callee.index] == recursion[u.index] {
					site.saved, site.slots, site.preds = true, u.slots, u.preds
					recursive = true
				}
			}
		}
	}
	l.kernel.local = int(l.localBytes(recursive))
}

// recursions numbers the units so that those that may call one another, through others too, have the same
// number: strongly connected components (Tarjan, Depth-first search and linear graph algorithms, 1972).
func (l *linker) recursions() []int {
	number, low, component := make([]int, len(l.units)), make([]int, len(l.units)), make([]int, len(l.units))
	var open []int // units whose component is not known
	visited := 0
	var visit func(i int)
	visit = func(i int) {
		visited++
		number[i], low[i] = visited, visited
		open = append(open, i)
		for _, site := range l.units[i].sites {
			for _, to := range site.targets {
				j := l.byName[to.name].index
				if number[j] == 0 {
					visit(j)
				}
				if component[j] == 0 {
					low[i] = min(low[i], low[j])
				}
			}
		}
		if low[i] < number[i] {
			return
		}
		for component[i] == 0 { // i was visited first of its component
			last := len(open) - 1
			component[open[last]] = number[i]
			open = open[:last]
		}
	}
	visit(0) // the kernel, from which all units can be reached
	return component
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
