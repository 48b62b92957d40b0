package race

func (e *wish) edge() Edge { return Edge{Side{e.by.Name, e.release.op}, Side{e.to.Name, e.read}} }

// isBefore reports whether the flag of an edge was released before an access.
func (e *wish) isBefore(access *event) bool {
	return access.knew != nil && e.known.anyScope.time <= access.knew.at(e.by.number)
}

// earlyFlags looks for the last flag that each of two accesses of two blocks comes behind. Both were written before the
// other access, or they would order the two. Which of the accesses should have waited for a later flag cannot be told:
// a write that comes too soon for a slow reader looks like a read that does not wait for its write.
func (w *wishes) earlyFlags(old, now *event) *Diagnosis {
	first, second := w.lastFlag(old, now), w.lastFlag(now, old)
	if first == nil && second == nil {
		return &Diagnosis{}
	}
	return &Diagnosis{Missing: LaterFlag, Waits: [2]*Edge{first, second}}
}

// lastFlag is the last flag of the block of another access that an access comes behind, if it was written before the
// other access; or nil.
func (w *wishes) lastFlag(access, other *event) *Edge {
	if access.knew == nil {
		return nil
	}
	for i := len(w.edges) - 1; i >= 0; i-- {
		e := &w.edges[i]
		if isSameBlock(e.by.place, other.thread.place) && isSameBlock(e.to.place, access.thread.place) &&
			e.at <= access.knew.at(e.to.number) && e.isBefore(other) {
			edge := e.edge()
			return &edge
		}
	}
	return nil
}

// isSameBlock reports whether two places are the block of the same number and rank, in whatever launch.
func isSameBlock(a, b Place) bool {
	return a.Rank == b.Rank && a.Block == b.Block && a.Launch != 0 && b.Launch != 0
}
