package litmus

import "testing"

// The order of two fence.sc is more than two fence.acq_rel give: who has missed a write behind its fence was first, and
// what it wrote before happens before what is behind the other fence, though nobody acquires. Package race has no such
// edge, and tells a race here.
//
// An edge from each fence.sc to those that a schedule executes later would be none of the model's. Where the values do
// not decide which fence is first, either may be, and a fence in front of a poll mends nothing: the second test races.
func TestFencesInOrder(t *testing.T) {
	for _, f := range fenceKinds() {
		for _, g := range fenceKinds() {
			for where, at := range pairs {
				first := made{
					name: "fence order " + where + " " + f.String() + " " + g.String(), places: at, initial: "d=0; y=0; f=0",
					columns: [][]string{
						lines([]string{"st.weak d, 1"}, f.code(), []string{
							"ld.relaxed.sys r0, y", "bne r0, 0, LC00", "st.relaxed.sys f, 1", "LC00:",
						}),
						lines([]string{"st.relaxed.sys y, 1"}, g.code(), []string{
							"ld.relaxed.sys r0, f", "bne r0, 1, LC01", "ld.weak r1, d", "LC01:",
						}),
					},
					outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: !ordered(f, g, at[0], at[1]), axiom: "Causality",
					racy: !ordered(f, g, at[0], at[1]), racesKnown: true,
				}
				first.compare(t)
				second := made{
					name: "fence before a poll " + where, places: at, initial: "d=0; f=0",
					columns: [][]string{
						lines([]string{"st.weak d, 1"}, f.code(), []string{"st.relaxed.sys f, 1"}),
						lines(g.code(), []string{"ld.relaxed.sys r0, f", "bne r0, 1, LC01", "ld.weak r1, d", "LC01:"}),
					},
					outcome: `P1:r0 == 1 /\ P1:r1 == 0`, allowed: true, axiom: "none", racy: true, racesKnown: true,
				}
				second.compare(t)
				if t.Failed() {
					return
				}
			}
		}
	}
}
