package finding

import "gpurun/cudart/sim/check/race"

// verbs say what the sides of a finding did, in their order.
var verbs = map[Kind][]string{
	LostSignal:  {"wrote", "overwrote it", "waits for it"},
	StaleFlag:   {"wrote in an earlier launch", "read that", "writes too late"},
	Torn:        {"wrote", "reads"},
	Leak:        {"allocates"},
	EndlessLoop: {"loops"},
}

// resultVerbs say what the sides of a wrong result did, by its origin.
var resultVerbs = map[string][]string{
	NotStored: {"", "wrote the elements beside it"},
	ReadEarly: {"", "wrote later, in the same call", "read too early", "wrote the element"},
	ReadLate:  {"", "wrote before, in a later call", "read too late", "wrote the element"},
}

var past = map[race.Kind]string{race.Read: "read", race.Write: "wrote", race.Update: "updated", race.Fence: "fenced"}

// verb says what a side did; "" where the kind of the finding says it.
func (f *Finding) verb(side int) string {
	switch f.Kind {
	case Race:
	case WrongResult:
		if known := resultVerbs[f.Origin]; side < len(known) {
			return known[side]
		}
		return [...]string{"", "wrote the element"}[min(side, 1)]
	default:
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
