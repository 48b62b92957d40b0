package check

import (
	"testing"

	"gpurun/cudart/sim/check/race"
)

// The advice names the flag that each of two accesses comes behind, with its lines.
func TestAdviceOfEarlyFlags(t *testing.T) {
	at := func(rank, line int, kind race.Kind) Access {
		return Access{Actor: Actor{Rank: rank, Kernel: "k", Launch: 1}, Kind: kind, Module: "m", Line: line}
	}
	f := Finding{Sides: []Access{at(1, 10, race.Read), at(0, 20, race.Write)}}
	edge := func(from, to int) *race.Edge {
		side := func(rank int, kind race.Kind, site string) race.Side {
			return race.Side{Thread: Actor{Rank: rank}, Op: &race.Operation{Kind: kind, Site: site}}
		}
		return &race.Edge{Release: side(from, race.Write, "store"), Acquire: side(to, race.Read, "load")}
	}
	const read = "rank 1's read waits at the load for the flag that rank 0 writes at the store, before its write"
	const write = "rank 0's write waits at the load for the flag that rank 1 writes at the store, before its read"
	for want, waits := range map[string][2]*race.Edge{
		write + ", and " + read:                                   {edge(0, 1), edge(1, 0)},
		"rank 0's write waits for no flag of rank 1, and " + read: {edge(0, 1), nil},
	} {
		if got := earlyFlags(&f, waits); got != tooLittle+": "+want {
			t.Errorf("got:  %s\nwant: %s", got, tooLittle+": "+want)
		}
	}
}
