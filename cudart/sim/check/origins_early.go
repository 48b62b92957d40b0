package check

import "slices"

// earlyLoads are loads of a word, of each warp the last one.
type earlyLoads struct {
	loads []*misread
	// places has the places in loads by warp, if they are many: all warps may load the same word again and again.
	places map[*doer]int
}

const manyLoads = 16

func (e *earlyLoads) all() []*misread {
	if e == nil {
		return nil
	}
	return e.loads
}

// place is where the load of a warp is, or -1.
func (e *earlyLoads) place(by *doer) int {
	if e.places == nil {
		return slices.IndexFunc(e.loads, func(m *misread) bool { return m.by == by })
	}
	if i, ok := e.places[by]; ok {
		return i
	}
	return -1
}

// forget notes that a warp loads the word again.
func (e *earlyLoads) forget(by *doer) {
	if e == nil {
		return
	}
	i, last := e.place(by), len(e.loads)-1
	if i < 0 {
		return
	}
	e.loads[i].again = true
	e.loads[i] = e.loads[last]
	if e.places != nil {
		e.places[e.loads[i].by] = i
		delete(e.places, by)
	}
	e.loads = e.loads[:last]
}

// add adds the load of a warp that has none.
func (e *earlyLoads) add(m *misread) {
	e.loads = append(e.loads, m)
	switch {
	case e.places != nil:
		e.places[m.by] = len(e.loads) - 1
	case len(e.loads) > manyLoads:
		e.places = map[*doer]int{}
		for i, other := range e.loads {
			e.places[other.by] = i
		}
	}
}
