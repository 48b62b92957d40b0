package checktask

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/kernels/allgather"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

func run(t *testing.T, ranks int, c Calls) *check.Report {
	t.Helper()
	checker, err := check.New(check.Config{Ranks: ranks})
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Run(1, c.Task)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func oneshot(counts ...int64) Calls {
	return Calls{
		Algorithm: allreduce.OneShot(), Shape: allreduce.Collective().Shape, DType: collective.Float, Op: collective.Sum,
		Counts: counts, Launches: 2, MaxBlocks: 2,
	}
}

// A kernel that computes something else has no race, and a finding with the rank, the call and the element.
func TestWrongResultIsAFinding(t *testing.T) {
	c := oneshot(40, 7)
	c.Source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.ReplaceAll(text, []byte("add.rn.f32"), []byte("sub.rn.f32")), err
	}
	r := run(t, 2, c)
	if len(r.Findings) != 4 {
		t.Fatalf("findings %v", r.Findings)
	}
	f := r.Findings[0]
	if f.Kind != check.WrongResult || f.Count != 2 || f.Sides[0].Text != "allreduce oneshot" ||
		f.Sides[0].Command != "call 1, of 40 elements" || !strings.Contains(f.Where, "output: element 0 is 0x") {
		t.Errorf("%+v", f)
	}
}

// Other algorithms make every other call: their mistakes are found and have their names.
func TestOthersMakeEveryOtherCall(t *testing.T) {
	c := oneshot(40, 7)
	c.Others = []*collective.Algorithm{allreduce.TwoShot()}
	c.Source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		if strings.Contains(module, "twoshot") {
			text = bytes.ReplaceAll(text, []byte("add.rn.f32"), []byte("sub.rn.f32"))
		}
		return text, err
	}
	var wrong []string
	for _, f := range run(t, 2, c).Findings {
		wrong = append(wrong, f.Sides[0].Text+": "+f.Sides[0].Command)
	}
	want := []string{"allreduce twoshot: call 2, of 40 elements", "allreduce twoshot: call 4, of 7 elements"}
	if !slices.Equal(wrong, want) {
		t.Errorf("wrong results %q, want %q", wrong, want)
	}
}

// What a run has kept of right outputs does not hide the wrong ones of a later run.
func TestLaterRunsAreCompared(t *testing.T) {
	checker, err := check.New(check.Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := oneshot(40, 7), oneshot(40, 7)
	wrong.Source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.ReplaceAll(text, []byte("add.rn.f32"), []byte("sub.rn.f32")), err
	}
	for i, c := range []*Calls{&right, &right, &wrong, &right, &wrong} {
		r, err := checker.Run(1, c.Task)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(r.Findings) > 0, c == &wrong; got != want {
			t.Errorf("run %d: wrong results %t, want %t", i, got, want)
		}
	}
}

// The inputs of the calls differ, and so do those of the ranks: a call that repeats the result of the one before is
// wrong.
func TestInputsChange(t *testing.T) {
	c, calls := oneshot(40), 0
	original := c.Algorithm.Enqueue
	c.Algorithm.Enqueue = func(comm *collective.Comm, s cudart.Stream, call collective.Call) error {
		if calls++; calls > c.total() { // the second rank's calls count, too
			return errors.New("too many calls")
		}
		return original(comm, s, call)
	}
	if r := run(t, 1, c); !r.Clean() || calls != 2 {
		t.Errorf("%d calls, %v", calls, r.Findings)
	}
	d := data{rank: &rank{Calls: &c, Rank: &check.Rank{World: 2}}}
	inputs := [][]byte{}
	for call := range 2 {
		for rank := range 2 {
			content := make([]byte, 160)
			d.input(call).Fill(content, rank)
			if slices.ContainsFunc(inputs, func(known []byte) bool { return bytes.Equal(known, content) }) {
				t.Errorf("call %d of rank %d has the input of another", call, rank)
			}
			inputs = append(inputs, content)
		}
	}
}

// A barrier that does not wait lets a rank copy a token before it is written.
func TestBarrierThatDoesNotWaitIsFound(t *testing.T) {
	flag := *barrier.Collective().Algorithms[0]
	c := Calls{Algorithm: &flag, Shape: barrier.Collective().Shape, Counts: []int64{0}, Launches: 3, MaxBlocks: 2}
	c.Op = collective.None
	if r := run(t, 3, c); !r.Clean() {
		t.Errorf("the barrier has findings: %v, incomplete %q", r.Findings, r.Incomplete)
	}
	flag.Enqueue = func(*collective.Comm, cudart.Stream, collective.Call) error { return nil }
	checker, err := check.New(check.Config{Ranks: 3})
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for seed := range uint64(4) {
		r, err := checker.Run(seed, c.Task)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if f.Kind == check.WrongResult && strings.Contains(f.Where, "tokens: element ") {
				wrong++
			}
		}
	}
	if wrong == 0 {
		t.Error("no rank has copied a token before it was written")
	}
	r := run(t, 3, c)
	if !slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
		return f.Kind == check.Race && strings.Contains(f.Where, "input") && f.Sides[0].Rank != f.Sides[1].Rank
	}) {
		t.Errorf("findings %v", r.Findings)
	}
}

// Counts follow the sizes. Parts are whole vectors unless they are to be unaligned, and multiples that the algorithm
// asks for.
func TestCountsFor(t *testing.T) {
	whole := oneshot().Algorithm
	picky := *whole
	picky.Accepts = func(_ int, call collective.Call) error {
		if call.Count%48 != 0 {
			return errors.New("rows of 48")
		}
		return nil
	}
	impossible := *whole
	impossible.Accepts = func(int, collective.Call) error { return errors.New("never") }
	parts := collective.Shape{Send: collective.OnePart, Recv: collective.PartPerRank, Reduces: true}
	for name, x := range map[string]struct {
		algorithm *collective.Algorithm
		shape     collective.Shape
		unaligned bool
		want      []int64
		err       string
	}{
		"as they are": {algorithm: whole, want: []int64{251, 1024}},
		"parts":       {algorithm: whole, shape: parts, want: []int64{80, 340}},
		"unaligned":   {algorithm: whole, shape: parts, unaligned: true, want: []int64{83, 341}},
		"impossible":  {algorithm: &impossible, err: "never"},
	} {
		c := Calls{Algorithm: x.algorithm, Shape: x.shape, DType: collective.Float, Op: collective.Sum}
		got, err := c.CountsFor([]int64{1004, 4096, 4099}, 3, x.unaligned)
		if !slices.Equal(got, x.want) || (err == nil) != (x.err == "") || err != nil && err.Error() != x.err {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	c := Calls{Algorithm: &picky, DType: collective.Float, Op: collective.Sum}
	if got, err := c.CountsFor([]int64{4 * 100}, 2, false); err != nil || !slices.Equal(got, []int64{144}) {
		t.Errorf("%v, %v", got, err)
	}
}

// Each count has as many calls as the others, and is behind itself, behind a smaller and behind a larger one.
func TestOrderOfCounts(t *testing.T) {
	for launches, want := range map[int][]int64{
		1: {7, 8, 9},
		2: {7, 7, 8, 8, 9, 9},
		3: {7, 7, 8, 8, 9, 9, 7, 9, 8},
		4: {7, 7, 8, 8, 9, 9, 7, 9, 8, 7, 9, 8},
	} {
		c := Calls{Counts: []int64{7, 8, 9}, Launches: launches}
		var got []int64
		for n := range c.total() {
			got = append(got, c.count(n))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d launches: %d, want %d", launches, got, want)
		}
	}
}

// The replays of a graph have inputs of their own. A kernel whose epoch is stuck reads packets of the replay before,
// which would be right by the same inputs.
func TestReplaysHaveOtherInputs(t *testing.T) {
	const module, entry = "allgather_ll_sm_90", "allgather_ll_n2"
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := mutate.All(module, text, entry)
	if err != nil {
		t.Fatal(err)
	}
	stuck := slices.IndexFunc(mutants, func(m *mutate.Mutant) bool { return m.Class == mutate.EpochStuck })
	if stuck < 0 {
		t.Fatalf("%s of %s counts no epochs", entry, module)
	}
	calls := Calls{
		Algorithm: allgather.LL(), Shape: allgather.Collective().Shape, DType: collective.Float, Op: collective.None,
		Counts: []int64{40}, Launches: 1, MaxBlocks: 1, Replayed: true,
	}
	if r := run(t, 2, calls); !r.Clean() {
		t.Errorf("the original has findings: %v", r.Findings)
	}
	calls.Source = func(string) ([]byte, error) { return mutants[stuck].Text(text), nil }
	checker, err := check.New(check.Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for seed := range uint64(16) {
		r, err := checker.Run(seed, calls.Task)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if f.Kind == check.WrongResult && f.Sides[0].Command == "call 1 of replay 2, of 40 elements" {
				wrong++
			}
		}
	}
	if wrong == 0 {
		t.Error("no replay has a wrong result")
	}
}
