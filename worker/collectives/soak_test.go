package collectives

import (
	"math/rand/v2"
	"testing"
	"time"

	"gpurun/kernels/reference"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// All ranks draw the same calls: each with a seed of its own, of every case, pattern and kind of size.
func TestDraws(t *testing.T) {
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot", "twoshot"}, DTypes: []string{"half"}, Ops: []string{"sum"},
		Sizes: []int64{0, 64, 4096}, Verify: true, VerifyFor: time.Hour,
	}
	cases := casesOf(t, job, 2)
	drawAll := func() (all []drawn) {
		s := &draws{
			run: &run{Rank: &rank.Rank{World: 2}, job: job}, cases: cases, random: rand.New(rand.NewPCG(1, soakStream)),
		}
		for i := range 2000 {
			all = append(all, s.draw(int64(i+1)))
		}
		return all
	}
	seeds, seen := map[uint64]bool{}, map[any]bool{}
	all := drawAll()
	for i, d := range all {
		if seeds[d.in.Seed] {
			t.Fatalf("seed %d comes twice", d.in.Seed)
		}
		seeds[d.in.Seed] = true
		if d.Call.Count > 2048 || d.kept < 0 && d.RequestedBytes > 4096 {
			t.Errorf("%s has more elements than any case", d)
		}
		seen[d.in.Pattern], seen[d.Algorithm.Name], seen[d.InPlace] = true, true, true
		seen["odd count"] = seen["odd count"] || d.Call.Count%2 == 1
		if i > 0 {
			before := all[i-1].Call.Count
			seen["small after large"] = seen["small after large"] || d.Call.Count*16 < before
			seen["large after small"] = seen["large after small"] || d.Call.Count > before*16
		}
		seen[d.kept] = true
	}
	for _, what := range []any{
		reference.Exact, reference.Random, "oneshot", "twoshot", false, true, "odd count", "small after large",
		"large after small", -1, 0, len(cases) - 1,
	} {
		if !seen[what] {
			t.Errorf("no call has %v", what)
		}
	}
	for i, d := range drawAll() {
		if d.when != all[i].when || d.String() != all[i].String() {
			t.Fatalf("two ranks differ: %s %s, and %s %s", d, d.when, all[i], all[i].when)
		}
	}
}
