package check

import "gpurun/cudart/sim/check/schedule"

// decision is a turn that was taken: of which actor, and its limit: instructions of a warp, steps of a stream.
type decision struct{ actor, most uint32 }

// recorded is the schedule of the run, without what the caller knows of it.
func (r *run) recorded(strategy Strategy, seed uint64) *schedule.Schedule {
	s := &schedule.Schedule{
		Format: schedule.Format, Ranks: len(r.ranks), SMs: r.checker.cfg.SMs, Strategy: string(strategy), Seed: seed,
		Trace: uint64(r.trace), Turns: make(schedule.Turns, len(r.decisions)),
	}
	for i, d := range r.decisions {
		s.Turns[i] = schedule.Turn{Actor: r.ids[d.actor], Most: int(d.most)}
	}
	return s
}
