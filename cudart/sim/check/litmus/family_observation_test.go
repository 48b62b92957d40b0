package litmus

import "fmt"

// observationTests have branches, so that only a thread which has seen a value goes on. They race if and only if the
// value does not order what follows. A morally strong read that observes a write orders that write before what follows
// in program order on the same location, though not what stands in front of the write: that takes a release and an
// acquire. The write itself is ordered before what follows by way of further messages as well.
func observationTests() (all []made) {
	for where, at := range pairs {
		for _, w := range accessesOf("release") {
			for _, r := range accessesOf("acquire") {
				right := bothReach(w, r, at[0], at[1])
				all = append(all, made{
					name: fmt.Sprintf("a read behind an observation %s %s %s", where, w.name, r.name), places: at, initial: "x=0",
					columns: [][]string{
						w.store("x", 1), lines(r.load("r0", "x"), []string{"bne r0, 1, LC00", "ld.weak r1, x", "LC00:"}),
					},
					outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !right, axiom: "Causality", racy: !right, racesKnown: true,
				}, made{
					name: fmt.Sprintf("a write behind an observation %s %s %s", where, w.name, r.name), places: at, initial: "x=0",
					columns: [][]string{
						w.store("x", 1), lines(r.load("r0", "x"), []string{"bne r0, 1, LC00", "st.weak x, 2", "LC00:"}),
					},
					outcome: `P1:r0 == 1 /\ x == 1`, allowed: !right, axiom: "Coherence", racy: !right, racesKnown: true,
				})
			}
		}
	}
	for where, at := range triples {
		for _, data := range accessesOf("") {
			for _, s := range allScopes {
				for _, ordered := range []int{1, 2} {
					w, r := oneScope("release", s)[ordered], oneScope("acquire", s)[ordered]
					observed := bothReach(data, data, at[0], at[1])
					all = append(all, made{
						name:   fmt.Sprintf("WRC with branches %s %s %s.%s", where, data.name, w.name, s),
						places: at, initial: "x=0; f=0",
						columns: [][]string{
							data.store("x", 1),
							lines(data.load("r0", "x"), []string{"bne r0, 1, LC00"}, w.store("f", 1), []string{"LC00:"}),
							lines(r.load("r0", "f"), []string{"bne r0, 1, LC00", "ld.weak r1, x", "LC00:"}),
						},
						outcome: `P2:r0 == 1 /\ P2:r1 == 0`, axiom: "Causality",
						allowed: !observed || !synchronizes(w, r, at[1], at[2]),
						racy:    !observed || !synchronizes(w, r, at[1], at[2]), racesKnown: true,
					})
				}
			}
		}
	}
	return append(all, tickets()...)
}

// tickets: the thread that takes the second ticket reads what the other one has written in front of its own. It is
// right if the ticket releases and acquires, in scopes that include both.
func tickets() (all []made) {
	for where, at := range pairs {
		for _, s := range allScopes {
			for _, order := range []string{"relaxed", "acquire", "release", "acq_rel"} {
				right := order == "acq_rel" && within(s, at[0], at[1])
				take := func(data, other string) []string {
					return []string{
						"st.weak " + data + ", 1", "atom." + order + "." + s + ".add r0, c, 1", "bne r0, 1, LC00",
						"ld.weak r1, " + other, "LC00:",
					}
				}
				all = append(all, made{
					name: fmt.Sprintf("tickets %s %s.%s", where, order, s), places: at, initial: "x=0; y=0; c=0; P0:r1=7; P1:r1=7",
					columns: [][]string{take("x", "y"), take("y", "x")},
					outcome: `P0:r1 == 0 \/ P1:r1 == 0`, allowed: !right, axiom: "Causality", racy: !right, racesKnown: true,
				})
			}
		}
	}
	return all
}
