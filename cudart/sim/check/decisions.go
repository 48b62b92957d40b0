package check

// decision is a turn that was taken: of which actor, and its limit: instructions of a warp, steps of a stream.
type decision struct{ actor, most uint32 }

// recorded is the schedule of the run, without what the caller knows of it.
func (r *run) recorded() *Schedule {
	s := &Schedule{Format: ScheduleFormat, Ranks: len(r.ranks), SMs: r.checker.cfg.SMs, Trace: uint64(r.trace)}
	s.Turns = make([]Turn, len(r.decisions))
	for i, d := range r.decisions {
		s.Turns[i] = Turn{r.ids[d.actor], int(d.most)}
	}
	return s
}
