package worker

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

func pairsJob(inject ...workload.Injection) workload.Job {
	return workload.Job{Pairs: true, Sizes: []int64{4096}, Iterations: 2, Seed: 5, Inject: inject}
}

// runPairsJob does a job and returns the pairs that rank 0 reported.
func runPairsJob(t *testing.T, g ranks, job workload.Job) (pairs []result.Pair, apart string) {
	t.Helper()
	messages, errs := g.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, u := range updates(t, messages) {
		pairs, apart = append(pairs, u.Pairs...), apart+u.NoPeerAccess
	}
	return pairs, apart
}

// ends are a pair's findings without its measurements.
func ends(pairs []result.Pair) []result.Pair {
	var all []result.Pair
	for _, p := range pairs {
		p.CopyGBs, p.LoadedGBs, p.LatencyNS = 0, 0, 0
		all = append(all, p)
	}
	return all
}

// allRight is what there is to find among so many ranks.
func allRight(world int, words int64) []result.Pair {
	fine := result.Compared{Words: words, First: -1}
	var all []result.Pair
	for from := range world {
		for to := range world {
			if from != to {
				all = append(all, result.Pair{From: from, To: to, Written: fine, ReadBack: fine})
			}
		}
	}
	return all
}

func TestEveryPairIsChecked(t *testing.T) {
	for _, together := range []bool{false, true} {
		for _, world := range []int{1, 2, 4, 5} {
			job := pairsJob()
			job.PairsTogether = together
			pairs, _ := runPairsJob(t, ranks{world: world}, job)
			if diff := cmp.Diff(allRight(world, 512), ends(pairs)); diff != "" {
				t.Errorf("%d ranks, together %v: %s", world, together, diff)
			}
			for _, p := range pairs {
				if p.CopyGBs <= 0 || p.LoadedGBs <= 0 || p.LatencyNS <= 0 {
					t.Errorf("%d ranks, together %v: not measured: %+v", world, together, p)
				}
			}
		}
	}
}

// One bit that changed in a rank's memory is found there, at its place, and
// nowhere else.
func TestCorruptionIsFoundInItsPair(t *testing.T) {
	// The first pair with rank 2 is 0 to 2, and 1 to 2 where all write at a time.
	for together, wrong := range map[bool]int{false: 1, true: 3} {
		job := pairsJob(workload.Injection{Kind: workload.Corrupt, Rank: 2, Byte: 803})
		job.PairsTogether = together
		pairs, _ := runPairsJob(t, ranks{world: 3}, job)
		want := allRight(3, 512)
		want[wrong].Written.Wrong, want[wrong].Written.First = 1, 100
		if diff := cmp.Diff(want, ends(pairs)); diff != "" {
			t.Errorf("together %v: %s", together, diff)
		}
		if pairs[0].Wrong() || !pairs[wrong].Wrong() {
			t.Error("Wrong does not tell the pair that is wrong")
		}
	}
}

// A link that loses stores, or reads back what was not stored, is seen from
// both of its ends.
func TestBrokenLinkIsSeen(t *testing.T) {
	lossy := func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.Replace(text, []byte("st.global.v4.b32"), []byte("//"), 1), err
	}
	pairs, _ := runPairsJob(t, ranks{world: 2, source: lossy}, pairsJob())
	for _, p := range pairs {
		if p.Written.Wrong != 512 || p.ReadBack.Wrong != 512 || p.Written.First != 0 {
			t.Errorf("stores are lost, and the pair says %+v", p)
		}
	}
}

func TestPairsThatCannotReach(t *testing.T) {
	job := pairsJob()
	job.P2P = workload.Off
	pairs, apart := runPairsJob(t, ranks{world: 2}, job)
	if len(pairs) > 0 || !strings.Contains(apart, "p2p is off") {
		t.Errorf("got %v, %q", pairs, apart)
	}
}

func TestPairsJobsThatMakeNoSense(t *testing.T) {
	change := func(f func(*workload.Job)) workload.Job {
		j := pairsJob()
		f(&j)
		return j
	}
	for want, job := range map[string]workload.Job{
		"a multiple of 16 bytes, and not with [17]": change(func(j *workload.Job) { j.Sizes[0] = 17 }),
		"and not with []":                change(func(j *workload.Job) { j.Sizes = nil }),
		"one at least":                   change(func(j *workload.Job) { j.Iterations = 0 }),
		"the ranks are 0 to 1":           pairsJob(workload.Injection{Kind: workload.Hang, Rank: 2}),
		"a peer writes 4096 bytes there": pairsJob(workload.Injection{Kind: workload.Corrupt, Rank: 1, Byte: 4096}),
	} {
		var usage *workload.UsageError
		if err := job.Check(2); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := pairsJob(workload.Injection{Kind: workload.Corrupt}).Check(1); err == nil {
		t.Error("one rank alone is corrupted by nobody, and that is not refused")
	}
}
