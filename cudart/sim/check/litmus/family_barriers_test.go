package litmus

import "fmt"

// barrierTests: what is in front of an arrival at a barrier comes before what is behind a wait at it, of threads of the
// same CTA alone (Causality). An arrival by bar.arrive waits for nobody, so nothing is before what is behind it.
func barrierTests() (all []made) {
	block := pairs["block"]
	for where, at := range pairs {
		same := at[0] == at[1]
		for _, b := range []string{"bar.sync 0", "barrier.sync.aligned 3", "barrier.cta.sync 1", "bar.cta.sync 1"} {
			all = append(all, made{
				name: fmt.Sprintf("MP %s %s", b, where), places: at, initial: "x=0",
				columns: [][]string{{"st.weak x, 1", b}, {b, "ld.weak r0, x"}},
				outcome: "P1:r0 == 0", allowed: !same, axiom: "Causality", racy: !same, racesKnown: true,
			}, made{
				name: fmt.Sprintf("SB %s %s", b, where), places: at, initial: "x=0; y=0",
				columns: [][]string{{"st.weak x, 1", b, "ld.weak r0, y"}, {"st.weak y, 1", b, "ld.weak r0, x"}},
				outcome: `P0:r0 == 0 \/ P1:r0 == 0`, allowed: !same, axiom: "Causality", racy: !same, racesKnown: true,
			}, made{
				name: fmt.Sprintf("LB %s %s", b, where), places: at, initial: "x=0; y=0",
				columns: [][]string{{"ld.weak r0, x", b}, {b, "st.weak x, 1"}},
				outcome: "P0:r0 == 1", allowed: !same, axiom: "Causality", racy: !same, racesKnown: true,
			})
		}
	}
	for _, m := range []made{
		{
			name:    "a producer arrives, a consumer waits",
			columns: [][]string{{"st.weak x, 1", "bar.arrive 0, 2"}, {"bar.sync 0, 2", "ld.weak r0, x"}}, outcome: "P1:r0 == 0",
		},
		{
			name:    "who arrives does not wait",
			columns: [][]string{{"bar.arrive 0, 2", "ld.weak r0, x"}, {"st.weak x, 1", "bar.sync 0, 2"}}, outcome: "P0:r0 == 0",
			allowed: true, racy: true,
		},
		{
			name:    "two barriers that wait for each other end nowhere",
			columns: [][]string{{"st.weak x, 1", "bar.sync 0"}, {"bar.sync 1", "ld.weak r0, x"}}, outcome: "x == 0 \\/ x == 1",
		},
		{
			name:    "and so do two in different order",
			columns: [][]string{{"bar.sync 0", "bar.sync 1"}, {"bar.sync 1", "bar.sync 0"}}, outcome: "x == 0",
		},
		{
			name: "the second round orders what is between the rounds", outcome: "P1:r0 == 1",
			columns: [][]string{{"bar.sync 0", "st.weak x, 1", "bar.sync 0"}, {"ld.weak r0, x", "bar.sync 0", "bar.sync 0"}},
		},
		{
			name: "a thread that has ended is not waited for", outcome: "P0:r0 == 0", allowed: true, racy: true,
			columns: [][]string{{"bar.sync 0", "ld.weak r0, x"}, {"st.weak x, 1"}},
		},
		{
			name: "a barrier passes on what one thread has acquired", outcome: `P1:r0 == 1 /\ P2:r0 == 0`,
			columns: [][]string{
				{"st.weak x, 1", "st.release.sys f, 1"},
				{"ld.acquire.sys r0, f", "bar.sync 0, 2"},
				{"bar.sync 0, 2", "ld.weak r0, x"},
			},
			racy:   true, // where the flag was not set yet
			places: []place{{0, 1}, {0, 0}, {0, 0}},
		},
		{
			// Who comes first with the one who waits decides what that has seen, and whether it waits for ever.
			name: "three arrive where two are counted", outcome: `P2:r0 == 0`, allowed: true, racy: true,
			places: triples["block"],
			columns: [][]string{
				{"st.weak x, 1", "bar.arrive 0, 2"}, {"bar.arrive 0, 2"}, {"bar.sync 0, 2", "ld.weak r0, x"},
			},
		},
	} {
		m.initial, m.axiom, m.racesKnown = "x=0; f=0", "Causality", true
		if m.places == nil {
			m.places = block
		}
		all = append(all, m)
	}
	return all
}
