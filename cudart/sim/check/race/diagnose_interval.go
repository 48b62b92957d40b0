package race

// history is what a diagnosis knows of the program of a thread. Warps of a block mostly execute the same code. So the
// place of an instruction before or behind a flag, in the flag's own lane, is its place in other warps as well.
type history struct {
	since *interval
	ever  map[Site]uint32 // lanes that have executed an instruction
}

// interval is what a thread has done since its block met last: the first execution of each instruction by each lane.
type interval struct {
	executed map[Site][]execution
	steps    int
}

type execution struct {
	lanes uint32
	step  int
}

func newInterval() *interval { return &interval{executed: map[Site][]execution{}} }

// history is that of a thread.
func (w *wishes) history(t *Thread) *history {
	h := w.histories[t]
	if h == nil {
		h = &history{newInterval(), map[Site]uint32{}}
		w.histories[t] = h
	}
	return h
}

// perform notes an access by lanes of a thread; 0 are all.
func (w *wishes) perform(t *Thread, op *Operation, lanes uint32) {
	lanes = lanesOrAll(lanes)
	h := w.history(t)
	known := h.since.executed[op.Site]
	for _, e := range known {
		lanes &^= e.lanes
	}
	if lanes != 0 {
		h.since.executed[op.Site] = append(known, execution{lanes, h.since.steps})
		h.since.steps++
		h.ever[op.Site] |= lanes
	}
}

func lanesOrAll(lanes uint32) uint32 {
	if lanes == 0 {
		return allLanes
	}
	return lanes
}

// meet notes that the block of threads has met.
func (w *wishes) meet(threads []*Thread) {
	for _, t := range threads {
		w.history(t).since = newInterval()
	}
}

// mark is a place in an interval, and the lanes that have come to it.
type mark struct {
	of    *history
	in    *interval
	step  int
	lanes uint32
}

// mark is the place that lanes of a thread have reached; 0 are all.
func (w *wishes) mark(t *Thread, lanes uint32) mark {
	h := w.history(t)
	return mark{h, h.since, h.since.steps, lanesOrAll(lanes)}
}

// hasBefore reports whether the lanes of a mark have executed an instruction in front of it since the block met.
func (m mark) hasBefore(site Site) bool {
	for _, e := range m.in.executed[site] {
		if e.lanes&m.lanes != 0 && e.step < m.step {
			return true
		}
	}
	return false
}

// hasElsewhere reports whether the lanes of a mark execute an instruction, but have not done so in front of the mark
// since the block met.
func (m mark) hasElsewhere(site Site) bool { return m.of.ever[site]&m.lanes != 0 && !m.hasBefore(site) }
