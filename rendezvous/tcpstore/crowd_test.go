package tcpstore

import (
	"testing"
	"time"
)

func TestCrowdCountsEachClientOnce(t *testing.T) {
	for _, tt := range []struct {
		name          string
		clients       int
		visits, sized int
	}{
		{"not before a round is over", 64, visitsPerRound - 1, 0},
		{"all of them", 64, visitsPerRound, 64},
		{"in each round", 64, 3 * visitsPerRound, 64},
		{"one alone", 1, 2 * visitsPerRound, 1},
		{"no more than fit into a round", 4 * visitsPerRound, 8 * visitsPerRound, visitsPerRound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w crowd
			visitInTurn(&w, tt.clients, tt.visits)
			if w.size != tt.sized {
				t.Errorf("a crowd of %d, want %d", w.size, tt.sized)
			}
		})
	}
}

func visitInTurn(w *crowd, clients, visits int) {
	conns := make([]conn, clients)
	for i := range visits {
		w.visit(&conns[i%clients])
	}
}

func TestPaceNapsOnlyForCrowds(t *testing.T) {
	const enough = 32
	p := pace{crowdSize: enough}
	expect := func(want bool, when string) {
		t.Helper()
		if p.naps() != want {
			t.Errorf("naps %s: %v, want %v", when, !want, want)
		}
	}
	p.slept(lookFor)
	visitInTurn(&p.crowd, enough-1, visitsPerRound)
	expect(false, "with too few clients")
	visitInTurn(&p.crowd, enough, visitsPerRound)
	expect(true, "with a crowd")
	p.slept(time.Second)
	expect(false, "when requests come rarely")
	p.slept(lookFor)
	expect(true, "when they are dense again")
	visitInTurn(&p.crowd, 1, visitsPerRound)
	expect(false, "when all but one have gone silent")
}
