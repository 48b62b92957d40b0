package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// sideBySide is a job of three algorithms in passes.
func sideBySide() workload.Job {
	return workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot", "twoshot", "auto"}, DTypes: []string{"float"},
		Ops:   []string{"sum"},
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

// Every pass times every algorithm once, in an order that changes, and that is the
// same on all ranks; nothing but the calls is between the stamps.
func TestPassesInterleave(t *testing.T) {
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
	var passes []string
	for pass := range slices.Chunk(logs[0].calls, 3) {
		var names []string
		for _, calls := range pass {
			if len(calls) != job.Iterations || calls[0] != calls[1] {
				t.Errorf("a batch of %q", calls)
			}
			names = append(names, calls[0])
		}
		passes = append(passes, strings.Join(names, " "))
		slices.Sort(names)
		if len(slices.Compact(names)) != 3 {
			t.Errorf("a pass of %q", pass)
		}
	}
	slices.Sort(passes)
	if len(slices.Compact(passes)) < 2 {
		t.Error("the order is always the same")
	}
}

// Each algorithm of each size has a sample for each pass, by launches and by
// graphs, and is verified.
func TestPassesGiveSamples(t *testing.T) {
	for _, replays := range []int{0, 1} {
		job := sideBySide()
		job.GraphReplays = replays
		results := (ranks{world: 2}).mustRun(t, job)
		var got []string
		for _, r := range results {
			got = append(got, strings.TrimSpace(r.Algorithm+" "+r.Asked+" "+result.FormatSize(r.Bytes)+
				map[bool]string{true: " in place"}[r.InPlace]))
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

// Wrong data also fails a run in passes.
func TestPassesVerify(t *testing.T) {
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
func TestPassesVerifyTwice(t *testing.T) {
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
