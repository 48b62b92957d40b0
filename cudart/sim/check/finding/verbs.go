package finding

import "gpurun/cudart/sim/check/race"

// verbs say what the sides of a finding did, in their order.
var verbs = map[Kind][]string{
	LostSignal:  {"wrote", "overwrote it", "waits for it"},
	StaleFlag:   {"wrote in an earlier launch", "read that", "writes too late"},
	Torn:        {"wrote", "reads"},
	Leak:        {"allocates"},
	EndlessLoop: {"loops"},
	WrongResult: {"", "wrote later, in the same call", "read too early", "wrote it"},
}

var past = map[race.Kind]string{race.Read: "read", race.Write: "wrote", race.Update: "updated", race.Fence: "fenced"}

// verb says what a side did; "" where the kind of the finding says it.
func (f *Finding) verb(side int) string {
	switch {
	case f.Kind == WrongResult && f.Cause == NotStored && side == 1:
		return "wrote the elements beside it"
	case f.Kind == WrongResult && len(f.Sides) == 2 && side == 1:
		return "wrote it"
	}
	if f.Kind != Race {
		if known := verbs[f.Kind]; side < len(known) {
			return known[side]
		}
		return ""
	}
	if side < len(f.Sides)-1 {
		return past[f.Sides[side].Kind]
	}
	return f.Sides[side].Kind.String()
}
