package check

import "testing"

// Barriers that are never complete, and barriers that the lanes of a warp come to at different lines, are found with
// their cause; the twins are clean.
func TestBarrierDivergence(t *testing.T) {
	const half = "and.b32 %x, %tid, 31;\nsetp.ge.u32 %p, %x, 16;\n" // the upper lanes of each warp
	const second = "setp.ge.u32 %p, %tid, 32;\n"                    // the threads of the second warp
	for name, c := range map[string]struct {
		wrong, right string
		want         string
	}{
		"a warp exits that an explicit count has": {
			second + "@%p bra end;\n10: bar.sync 1, 64;\nend:\n",
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\nbar.sync 1, 64;\nend:\n",
			"barrier-divergence, a barrier counts threads that cannot come, 10",
		},
		"two warps wait at two barriers": {
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\n20: bar.sync 2, 64;\nend:\n",
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\n20: bar.sync 1, 64;\nend:\n",
			"barrier-divergence, warps of a block wait at different barriers, 10-20",
		},
		"a warp polls while the other waits at a barrier is a deadlock": {
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\n" + polls + "20: bar.sync 1, 64;\nend:\n",
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\n@%first bra end;\n20: bar.sync 1, 64;\nend:\n",
			"deadlock, nobody who still runs writes the word, 20",
		},
		"lanes wait for lanes that wait at a barrier": {
			half + "@%p bra other;\n10: bar.warp.sync 0xffffffff;\nbra end;\nother:\n20: bar.sync 1;\nend:\n",
			half + "@%p bra other;\n10: bar.warp.sync 0xffff;\nbra end;\nother:\n" +
				"20: bar.warp.sync 0xffff0000;\nend:\n",
			"barrier-divergence, lanes wait for lanes of their warp that cannot come, 10-20",
		},
		"lanes of a warp come to two instructions": {
			half + "@%p bra other;\n10: bar.sync 0;\nbra end;\nother:\n20: bar.sync 0;\nend:\n",
			half + "@%p bra other;\n10: barrier.sync 0;\nbra end;\nother:\n20: barrier.sync 0;\nend:\n",
			"barrier-divergence, lanes of a warp execute different barrier instructions, 10-20",
		},
		"lanes that leave before a barrier do not count": {
			second + "@%p bra other;\n10: bar.sync 1, 64;\nbra end;\nother:\nend:\n",
			half + "@%p bra end;\n10: bar.sync 0;\nend:\n",
			"barrier-divergence, a barrier counts threads that cannot come, 10",
		},
	} {
		t.Run(name, func(t *testing.T) {
			program{body: c.wrong, threads: 64}.expect(t, c.want)
			program{body: c.right, threads: 64}.expect(t)
		})
	}
}
