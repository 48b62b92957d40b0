package litmus

import "fmt"

// orderedAdditions are notifications by the warps of a block, as kernels of several warps make them: each
// adds 1 to a word of the next rank, in turn, behind a fence. The turn is a word of the block. Who reads 1 has
// what the first warp wrote, if the turn is released and acquired. Otherwise the second addition may come first,
// and its fence has seen nothing of the first warp.
func orderedAdditions() (all []made) {
	at := []place{{0, 0}, {0, 0}, {1, 1}}
	for _, release := range []string{"release", "relaxed"} {
		for _, acquire := range []string{"acquire", "relaxed"} {
			right := release == "release" && acquire == "acquire"
			all = append(all, made{
				name: fmt.Sprintf("additions in turn %s %s", release, acquire), places: at, initial: "x=0; f=0; t=0",
				columns: [][]string{
					{"st.weak x, 1", "fence.acq_rel.sys", "red.relaxed.sys.add f, 1", "st." + release + ".cta t, 1"},
					{
						"fence.acq_rel.sys", "ld." + acquire + ".cta r0, t", "bne r0, 1, LC00", "red.relaxed.sys.add f, 1",
						"LC00:",
					},
					{"ld.acquire.sys r0, f", "bne r0, 1, LC00", "ld.weak r1, x", "LC00:"},
				},
				outcome: `P1:r0 == 1 /\ P2:r0 == 1 /\ P2:r1 == 0`, allowed: !right, axiom: "Coherence",
				racy: !right, racesKnown: true,
			})
		}
	}
	return all
}
