package worker

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// soak does a job, and returns its results and what it verified after the sweep.
func (g ranks) soak(t *testing.T, job workload.Job) (results []result.Result, further result.Further) {
	t.Helper()
	messages, errs := g.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, u := range updates(t, messages) {
		if u.Result != nil {
			results = append(results, *u.Result)
		}
		if u.Further != nil {
			further = *u.Further
		}
	}
	return results, further
}

// Further calls of every shape are right, whether they are launched or replayed, and take the time that the job says.
func TestFurtherCallsAreVerified(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"allreduce", "gather", "barrier"} {
		for _, graphs := range []int{0, 1} {
			job := everyAlgorithm(must(kernels.Find(name)))
			job.Algorithms = job.Algorithms[:min(3, len(job.Algorithms))]
			job.Sizes, job.Ops, job.VerifyFor = []int64{100, 5000}, job.Ops[:1], 100*time.Millisecond
			job.GraphReplays, job.Unaligned = graphs, graphs == 1
			results, further := (ranks{world: 2}).soak(t, job)
			if wrong(results) != 0 || further.Calls < 1 || further.Minutes < job.VerifyFor.Minutes() {
				t.Errorf("%s: %v", name, further)
			}
			for _, r := range results {
				if r.Untimed {
					t.Errorf("%s: %v", r, r.Complaints())
				}
			}
		}
	}
}

// fours is an algorithm that leaves out the last elements unless their number is a multiple of 4.
func fours() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: "allreduce", Name: "fours", MaxRanks: 2, Needs: collective.Needs{Peers: true, SeparateOutput: true},
		Kernels: []collective.Kernel{kernelOf("pull")},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		err := barrier.Meet(c, s, collective.StartBarrier)
		if threads := int(call.Count) &^ 3; err == nil && threads > 0 {
			err = launchOwn(c, s, a, cudart.Launch{Blocks: 1, Threads: threads}, uint64(c.Peer(0, call.Send)),
				uint64(c.Peer(1, call.Send)), uint64(c.Local(call.Recv)))
		}
		return cmp.Or(err, barrier.Meet(c, s, collective.EndBarrier))
	}
	return a
}

// pullSource has the kernel pull, and what ships.
func pullSource(name string) ([]byte, error) {
	if name == "pull.ptx" {
		return []byte(pull), nil
	}
	return ptx.Source(name)
}

// A kernel that is wrong for odd counts passes the sweep. A further call finds it, ends the run, and names seed and
// size, which repeat it.
func TestFurtherCallFindsOddCounts(t *testing.T) {
	g := ranks{world: 2, own: fours(), source: pullSource}
	job := pulls(64, 512)
	job.VerifyFor, job.Seed = time.Hour, 5
	results, further := g.soak(t, job)
	if n := wrong(results[:2]); n != 0 || len(results) != 3 || further.Calls == 0 {
		t.Fatalf("%d wrong in the sweep, and then %v: %v", n, further, results)
	}
	last := results[2]
	said := last.Complaints()
	if !last.Untimed || len(said) != 2 || last.Count%4 == 0 || *last.Wrong != 2*(last.Count%4) {
		t.Errorf("%+v: %v", last, said)
	}
	number := strconv.FormatInt(further.Calls+1, 10)
	pattern := `^rank 0: \d of \d+ elements (?:is|are) wrong in further call ` + number +
		` \(--seed (\d+) -b (\d+) -e (\d+) repeats it\): allreduce fours float sum, \d+ bytes out of place; `
	match := regexp.MustCompile(pattern).FindStringSubmatch(said[0])
	if match == nil {
		t.Fatalf("%q is not %s", said[0], pattern)
	}
	seed, err := strconv.ParseUint(match[1], 10, 64)
	size, err2 := strconv.ParseInt(match[2], 10, 64)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	again := pulls(size)
	again.Seed = seed
	repeated := g.mustRun(t, again)
	want, got := last.Mismatches[0], repeated[0].Mismatches
	same := func(m result.Mismatch) bool {
		return m.Rank == want.Rank && m.Index == want.Index && m.Want == want.Want && m.Got == want.Got
	}
	if !slices.ContainsFunc(got, same) {
		t.Errorf("%+v is not repeated: %+v", want, got)
	}
}

// Further products are right, and one that is wrong names what repeats it: the same elements are wrong in the same way.
func TestFurtherProducts(t *testing.T) {
	t.Parallel()
	job := productsJob("matmul-allreduce")
	job.VerifyFor = 100 * time.Millisecond
	results, further := (ranks{world: 2}).soak(t, job)
	if wrong(results) != 0 || len(results) != 2 || further.Calls < 1 {
		t.Errorf("%+v, then %v", results, further)
	}
	job.Algorithms, job.VerifyFor = []string{"naive"}, time.Hour
	nothing := regexp.MustCompile(`(?s)\n\{\n.*?\n\}`)
	g := ranks{world: 1, source: func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		if strings.HasPrefix(module, "matmul") {
			text = nothing.ReplaceAll(text, []byte("\n{\n\tret;\n}"))
		}
		return text, err
	}}
	results, further = g.soak(t, job)
	last := results[len(results)-1]
	match := regexp.MustCompile(`in further call 1 \(--seed (\d+) -m 24 -n 20 -k 40 repeats it\)`).
		FindStringSubmatch(last.Mismatches[0].Phase)
	if further.Calls != 0 || len(results) != 2 || !last.Untimed || match == nil {
		t.Fatalf("%+v, then %v", results, further)
	}
	var err error
	if job.Seed, err = strconv.ParseUint(match[1], 10, 64); err != nil {
		t.Fatal(err)
	}
	job.VerifyFor = 0
	want, repeated := last.Mismatches[0], g.mustRun(t, job)[0].Mismatches
	if !slices.ContainsFunc(repeated, func(m result.Mismatch) bool { return m.Want == want.Want && m.Got == want.Got }) {
		t.Errorf("%+v is not repeated: %+v", want, repeated)
	}
}
