package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// sideBySide is a job of three algorithms in rounds.
func sideBySide() workload.Job {
	return workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot", "twoshot", "auto"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: []int64{1 << 10, 8 << 10}, Iterations: 2, Warmup: 1, Passes: 4, Verify: true, Seed: 5,
	}
}

// watched writes down the kernels that its streams get between two stamps.
type watched struct {
	cudart.Backend
	log *batches
}

// batches are the kernels of every batch that was timed.
type batches struct {
	mu    sync.Mutex
	open  bool
	calls [][]string
}

type watchedDevice struct {
	*sim.Device
	log *batches
}

type watchedStream struct {
	cudart.Stream
	log *batches
}

func (w watched) Open(ordinal int) (cudart.Device, error) {
	d, err := w.Backend.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return watchedDevice{d.(*sim.Device), w.log}, nil
}

func (d watchedDevice) NewStream(o ...cudart.StreamOption) (cudart.Stream, error) {
	s, err := d.Device.NewStream(o...)
	return watchedStream{s, d.log}, err
}

func (s watchedStream) Record(e cudart.Event) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.open = !s.log.open; s.log.open {
		s.log.calls = append(s.log.calls, nil)
	}
	return s.Stream.Record(e)
}

func (s watchedStream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if n := len(s.log.calls); s.log.open {
		s.log.calls[n-1] = append(s.log.calls[n-1], k.Name())
	}
	return s.Stream.Launch(k, shape, params)
}

// Every round times every algorithm once, in an order that changes, and that is the
// same on all ranks; nothing but the calls is between the stamps.
func TestRoundsInterleave(t *testing.T) {
	logs := []*batches{{}, {}, {}}
	job := sideBySide()
	job.Algorithms, job.Sizes = []string{"oneshot", "twoshot", "oneshot_ll"}, []int64{8 << 10}
	(ranks{world: 3, backend: func(rank int) cudart.Backend {
		return watched{sim.New(3, sim.Options{}), logs[rank]}
	}}).mustRun(t, job)
	places := 2
	if got, want := len(logs[0].calls), places*job.Passes*3; got != want {
		t.Fatalf("%d batches, want %d", got, want)
	}
	for rank, log := range logs[1:] {
		if diff := cmp.Diff(logs[0].calls, log.calls); diff != "" {
			t.Errorf("rank %d: %s", rank+1, diff)
		}
	}
	var rounds []string
	for round := range slices.Chunk(logs[0].calls, 3) {
		var names []string
		for _, calls := range round {
			if len(calls) != job.Iterations || calls[0] != calls[1] {
				t.Errorf("a batch of %q", calls)
			}
			names = append(names, calls[0])
		}
		rounds = append(rounds, strings.Join(names, " "))
		slices.Sort(names)
		if len(slices.Compact(names)) != 3 {
			t.Errorf("a round of %q", round)
		}
	}
	slices.Sort(rounds)
	if len(slices.Compact(rounds)) < 2 {
		t.Error("the order is always the same")
	}
}

func TestOrderIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, round, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1000).Draw(t, "round"), rapid.IntRange(0, 9).Draw(t, "n")
		got := order(seed, round, n)
		if diff := cmp.Diff(got, order(seed, round, n)); diff != "" {
			t.Errorf("two ranks differ: %s", diff)
		}
		slices.Sort(got)
		for i, x := range got {
			if i != x {
				t.Errorf("%v is no permutation", got)
			}
		}
	})
}

// In as many rounds as it takes, each case has each place as often, and comes after each other one as often.
func TestOrderIsBalanced(t *testing.T) {
	for n := 2; n <= 9; n++ {
		cycle := n * (1 + n%2)
		at, after := map[[2]int]int{}, map[[2]int]int{}
		for round := range cycle {
			cases := order(42, round, n)
			for i, x := range cases {
				at[[2]int{x, i}]++
				if i > 0 {
					after[[2]int{x, cases[i-1]}]++
				}
			}
		}
		for x := range n {
			for y := range n {
				if got := at[[2]int{x, y}]; got != cycle/n {
					t.Errorf("of %d, case %d comes %d times in place %d, not %d", n, x, got, y, cycle/n)
				}
				if got := after[[2]int{x, y}]; x != y && got != cycle/n {
					t.Errorf("of %d, case %d comes %d times after %d, not %d", n, x, got, y, cycle/n)
				}
			}
		}
	}
}

// Each algorithm of each size has a sample for each round, by launches and by
// graphs, and is verified.
func TestRoundsGiveSamples(t *testing.T) {
	for _, replays := range []int{0, 1} {
		job := sideBySide()
		job.GraphReplays = replays
		results := (ranks{world: 2}).mustRun(t, job)
		var got []string
		for _, r := range results {
			got = append(got, strings.TrimSpace(r.Algorithm+" "+r.Asked+" "+result.FormatSize(r.Bytes)+map[bool]string{true: " in place"}[r.InPlace]))
			if *r.Wrong != 0 || len(r.Samples) != job.Passes || r.Time.P50 <= 0 || r.Time.Min != slices.Min(r.Samples) {
				t.Errorf("%s: %+v", r, r)
			}
		}
		want := []string{
			"oneshot  1K", "twoshot  1K", "oneshot_ll auto 1K",
			"oneshot  8K", "twoshot  8K", "oneshot_ll auto 8K",
			"oneshot  1K in place", "twoshot  1K in place", "oneshot_ll auto 1K in place",
			"oneshot  8K in place", "twoshot  8K in place", "oneshot_ll auto 8K in place",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// What verification finds counts as ever.
func TestRoundsVerify(t *testing.T) {
	job := sideBySide()
	job.Inject = []workload.Injection{{Kind: workload.Corrupt, Rank: 1, Byte: 1025}} // of the larger size
	bad := 0
	for _, r := range (ranks{world: 2}).mustRun(t, job) {
		if bad += int(*r.Wrong); *r.Wrong > 0 && (r.Algorithm != "oneshot" || r.Bytes != 8<<10 || r.InPlace) {
			t.Errorf("%v", r.Complaints())
		}
	}
	if bad != 1 {
		t.Errorf("%d wrong, want 1", bad)
	}
}

// Every case is verified before its group is timed, and once more when it has been.
func TestRoundsVerifyTwice(t *testing.T) {
	job := sideBySide()
	job.Algorithms, job.Sizes, job.Passes = []string{"oneshot", "twoshot"}, []int64{8 << 10}, 1
	messages, errs := ranks{world: 2}.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	order := ""
	for _, m := range messages {
		switch verifying := strings.HasPrefix(m.Phase, "verifying "); {
		case verifying && strings.HasSuffix(m.Phase, ", before timing"):
			order += "b"
		case verifying && strings.HasSuffix(m.Phase, ", after timing"):
			order += "a"
		case strings.HasPrefix(m.Phase, "timing "):
			order += "t"
		}
		if m.Progress != nil {
			got[fmt.Sprint(m.Progress.Done, " of ", m.Progress.Total)]++
		}
	}
	if want := "bbttaa" + "bbttaa"; order != want {
		t.Errorf("verified and timed in the order %s, want %s", order, want)
	}
	if diff := cmp.Diff(map[string]int{"0 of 4": 1, "2 of 4": 1}, got); diff != "" {
		t.Error(diff)
	}
}

// A round's sample is the slowest rank's, in the order of the rounds.
func TestSamplesAreTheSlowestRanks(t *testing.T) {
	var r result.Result
	setSamples(&r, []measurement{
		{Samples: []time.Duration{3000, 1000, 9000, 1500}, OnHost: []time.Duration{500, 200, 700, 300}},
		{Samples: []time.Duration{2000, 4000, 8000, 1600}, OnHost: []time.Duration{400, 900, 100, 300}},
	})
	want := result.Result{
		Samples: []float64{3, 4, 9, 1.6},
		Time:    result.Time{Min: 1.6, P50: 3.5, P95: 9, P99: 9, Max: 9},
		OnHost:  0.6, // of 0.5, 0.9, 0.7, 0.3
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// The links are measured on every rank, and their copies hurt nobody.
func TestCeiling(t *testing.T) {
	job := sideBySide()
	job.CeilingBytes = 100_000
	g := ranks{world: 3}
	found := g.ceiling(t, job)
	if found == nil || len(found.CopyOut) != 3 || slices.Min(found.CopyOut) <= 0 || found.Bytes != 100_000 || found.Skipped != "" {
		t.Errorf("%+v", found)
	}
	if found.Rate() != slices.Min(found.CopyOut) {
		t.Errorf("rate %v of %v", found.Rate(), found.CopyOut)
	}
	job.P2P = workload.Off
	job.Algorithms = []string{"naive"}
	if found := g.ceiling(t, job); found == nil || !strings.Contains(found.Skipped, "p2p is off") || found.Rate() != 0 {
		t.Errorf("%+v", found)
	}
	job.P2P = ""
	if found := (ranks{world: 1}).ceiling(t, job); found == nil || !strings.Contains(found.Skipped, "no peer") {
		t.Errorf("%+v", found)
	}
	if found := g.ceiling(t, sideBySide()); found != nil {
		t.Errorf("nobody asked for %+v", found)
	}
}
