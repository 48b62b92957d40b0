package check

import (
	"testing"

	engine "gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/finding"
)

// Of a wrong result that several cases have, the one is shown whose origin is known, though it may have no more sides.
func TestTheOriginOfALaterCase(t *testing.T) {
	m := &merge{known: map[string]int{}}
	f := engine.Found{Finding: engine.Finding{
		Kind: engine.WrongResult, Sides: []engine.Access{{Text: "allreduce"}}, Count: 1,
	}}
	m.find(f, plannedCase{}, "first")
	f.Origin = finding.NotStored
	at := m.find(f, plannedCase{}, "second")
	if got := m.found[at]; got.Origin != finding.NotStored || got.name != "second" || got.Count != 2 {
		t.Errorf("%q of %s, %d times", got.Origin, got.name, got.Count)
	}
}
