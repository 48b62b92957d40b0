package litmus

import "fmt"

// coherenceTests are the four tests of one location. The rules:
//
//	CoWW  the later write of a thread is the last one: program order is causality order (Coherence)
//	CoRR  two reads see a write and then the value before it, unless the first read is morally strong with the write,
//	      and so observes it (Causality)
//	CoRW  a write behind a read of a value comes before that value's write, unless the read has observed it (Coherence)
//	CoWR  a write that is read behind an own one can come before that in coherence order, unless both are morally
//	      strong, and so ordered (Causality): two writes that nothing orders may both be last
func coherenceTests() (all []made) {
	for where, at := range pairs {
		for _, a := range accessesOf("") {
			for _, b := range accessesOf("") {
				for _, c := range accessesOf("") {
					ab := bothReach(a, b, at[0], at[1])
					names := fmt.Sprintf("%s %s %s %s", where, a.name, b.name, c.name)
					all = append(all, made{
						name: "CoRR " + names, places: at, initial: "x=0",
						columns: [][]string{a.store("x", 1), lines(b.load("r0", "x"), c.load("r1", "x"))},
						outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !ab, axiom: "Causality",
					}, made{
						name: "CoRW " + names, places: at, initial: "x=0",
						columns: [][]string{a.store("x", 2), lines(b.load("r0", "x"), c.store("x", 1))},
						outcome: `P1:r0 == 2 /\ x == 2`, allowed: !ab, axiom: "Coherence",
					}, made{
						name: "CoWR " + names, places: at, initial: "x=0",
						columns: [][]string{a.store("x", 2), lines(b.store("x", 1), c.load("r0", "x"))},
						outcome: `P1:r0 == 2 /\ x == 1`, allowed: !ab, axiom: "Causality",
					})
				}
			}
		}
	}
	for _, a := range accessesOf("release") {
		for _, b := range accessesOf("release") {
			all = append(all, made{
				name: fmt.Sprintf("CoWW %s %s", a.name, b.name), places: []place{{0, 0}}, initial: "x=0",
				columns: [][]string{lines(a.store("x", 1), b.store("x", 2))},
				outcome: "x == 1", axiom: "Coherence",
			}, made{
				name: fmt.Sprintf("CoWR of one thread %s %s", a.name, b.name), places: []place{{0, 0}}, initial: "x=0",
				columns: [][]string{lines(a.store("x", 1), []string{"ld.weak r0, x"}, b.store("x", 2))},
				outcome: "P0:r0 != 1", axiom: "Causality",
			})
		}
	}
	return append(all, disagreement()...)
}

// disagreement: two readers see two writes the other way round, each by way of an older write of the same thread. Where
// all accesses are morally strong with one another, coherence order relates the writes, and forbids that. Where P1
// writes for its CTA alone, nothing orders its writes with those of P0 (SC-per-Location is about pairwise morally
// strong accesses).
func disagreement() (all []made) {
	for _, scope := range []string{"cta", "gpu"} {
		all = append(all, made{
			name: "readers that disagree " + scope, places: []place{{1, 0}, {0, 0}, {0, 0}}, initial: "x=0",
			columns: [][]string{
				{"st.relaxed.gpu x, 4", "st.relaxed.gpu x, 1"},
				{"st.relaxed." + scope + " x, 3", "st.relaxed." + scope + " x, 2", "ld.relaxed.gpu r0, x"},
				{"ld.relaxed.gpu r0, x", "ld.relaxed." + scope + " r1, x"},
			},
			outcome: `P1:r0 == 4 /\ P2:r0 == 1 /\ P2:r1 == 3`, allowed: scope == "cta", axiom: "Causality",
		})
	}
	return all
}
