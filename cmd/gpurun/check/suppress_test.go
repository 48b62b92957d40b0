package check

import (
	"testing"

	engine "gpurun/cudart/sim/check"
)

// A rule names a line of the source by the end of its path, of inlined code also that of a call.
func TestRulesNameLinesOfTheSource(t *testing.T) {
	a := engine.Access{Module: "k.ptx", Line: 7, Source: "flag.cuh:4"}
	a.InlinedAt = "sum.cuh:12, inlined at /home/k/one.cu:88"
	for source, want := range map[string]bool{
		"flag.cuh:4": true, "sum.cuh:12": true, "one.cu:88": true, "k/one.cu:88": true,
		"flag.cuh:5": false, "cuh:4": false, "e.cu:88": false, "flag.cuh:4, inlined at sum.cuh:12": false,
	} {
		if got := (suppression{Source: source}).matchesSide(a); got != want {
			t.Errorf("%s: %t, want %t", source, got, want)
		}
	}
	if (suppression{Source: "one.cu:88"}).matchesSide(engine.Access{Source: "flag.cuh:4"}) {
		t.Error("a rule matches a line that is not there")
	}
}
