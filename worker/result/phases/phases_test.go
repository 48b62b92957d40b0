package phases

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/worker/process/procfs"
)

// fakeClock is a recorder whose clock the test sets.
type fakeClock struct {
	*Recorder
	at time.Duration
}

func newFakeClock() *fakeClock {
	c := &fakeClock{}
	c.Recorder = &Recorder{clock: func() time.Duration { return c.at }}
	return c
}

func (c *fakeClock) beginAt(p Phase, at time.Duration) { c.at = at; c.Begin(p) }

func TestPhasesOnlyGoForward(t *testing.T) {
	c := newFakeClock()
	c.beginAt(Init, 10)
	c.at = 11
	joined := c.Concurrent(Join)
	c.beginAt(Open, 20)
	c.at = 25
	joined()
	c.beginAt(Cases, 30)
	c.beginAt(Load, 40) // a later case's kernels
	c.beginAt(Cases, 50)
	c.at = 60
	want := []Span{
		{Phase: Init, Begin: 10, End: 20},
		{Phase: Open, Begin: 20, End: 30},
		{Phase: Cases, Begin: 30, End: 60},
		{Phase: Join, Begin: 11, End: 25, Concurrent: true},
	}
	if diff := cmp.Diff(want, c.Spans()); diff != "" {
		t.Error(diff)
	}
	c.beginAt(Close, 70) // what was returned did not end the phase
	if got := c.Spans()[2].End; got != 70 {
		t.Errorf("the phase before ended at %d, want 70", got)
	}
}

func TestNoRecorderNotesNothing(t *testing.T) {
	var none *Recorder
	none.Begin(Init)
	none.Concurrent(Join)()
	if spans := none.Spans(); spans != nil {
		t.Errorf("got %v", spans)
	}
	var nowhere context.Context
	if r := FromContext(nowhere); r != nil {
		t.Errorf("no context carries %v", r)
	}
	if r := FromContext(context.Background()); r != nil {
		t.Errorf("an empty context carries %v", r)
	}
	if r := NewRecorder(); FromContext(NewContext(context.Background(), r)) != r {
		t.Error("a context lost its recorder")
	}
}

// A phase of an early rank, which waits for a late one, is not on the critical path.
func TestWaitsAreNotOnThePath(t *testing.T) {
	const ms = time.Millisecond
	launcher := []Span{
		{Phase: Plan, Begin: 100 * ms, End: 110 * ms},
		{Phase: Fork, Begin: 110 * ms, End: 500 * ms}, // until the workers had ended
		{Phase: End, Begin: 500 * ms, End: 505 * ms},
	}
	workers := []Worker{
		{Rank: 0, Started: 110 * ms, Exited: 498 * ms, Spans: []Span{
			{Phase: Init, Begin: 130 * ms, End: 430 * ms},
			{Phase: Compare, Begin: 430 * ms, End: 440 * ms},
			{Phase: Join, Begin: 131 * ms, End: 150 * ms, Concurrent: true},
		}},
		{Rank: 1, Started: 120 * ms, Exited: 450 * ms, Spans: []Span{
			{Phase: Init, Begin: 140 * ms, End: 180 * ms},
			{Phase: Compare, Begin: 180 * ms, End: 440 * ms},
		}},
		{Rank: 2, Started: 120 * ms, Exited: 450 * ms}, // crashed
	}
	got := NewTiming(launcher, workers)
	want := []Row{
		{Phase: Plan, Rank: -1, Begin: 0, Time: 10, OnPath: 10},
		{Phase: Fork, Rank: -1, Begin: 10, Time: 10, OnPath: 10},
		{Phase: Start, Rank: 0, Begin: 10, Time: 20, OnPath: 20},
		{Phase: Init, Rank: 0, Begin: 30, Time: 300, OnPath: 290},
		{Phase: Join, Rank: 0, Begin: 31, Time: 19, Concurrent: true},
		{Phase: Compare, Rank: 1, Begin: 80, Time: 260, OnPath: 10},
		{Phase: Exit, Rank: 0, Begin: 340, Time: 58, OnPath: 58},
		{Phase: End, Rank: -1, Begin: 400, Time: 5, OnPath: 7},
	}
	if diff := cmp.Diff(want, got.Path); diff != "" {
		t.Error(diff)
	}
	if got.Total != 405 || len(got.Ranks) != 3 || len(got.Ranks[0].Phases) != 5 || len(got.Ranks[2].Phases) != 0 {
		t.Errorf("got %+v", got)
	}
}

// Whatever times the ranks take, the path adds up to the total, and no time on it is
// negative.
func TestThePathAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := func(from, to Phase, at time.Duration) []Span {
			c := newFakeClock()
			for p := from; p <= to; p++ {
				if rapid.Bool().Draw(t, p.String()) || p == from {
					c.beginAt(p, at)
				}
				at += time.Duration(rapid.IntRange(0, 1e6).Draw(t, "took")) * time.Microsecond
			}
			c.at = at
			return c.Spans()
		}
		launcher := record(Guard, Fork, time.Hour)
		end := launcher[len(launcher)-1].End
		var workers []Worker
		last := end
		for rank := range rapid.IntRange(1, 4).Draw(t, "ranks") {
			w := Worker{Rank: rank, Started: end, Spans: record(Init, Close, end+time.Millisecond)}
			w.Exited = w.Spans[len(w.Spans)-1].End + time.Millisecond
			last = max(last, w.Exited)
			workers = append(workers, w)
		}
		launcher = append(launcher, Span{Phase: End, Begin: last, End: last + time.Millisecond})
		timing, sum := NewTiming(launcher, workers), 0.0
		for _, row := range timing.Path {
			sum += row.OnPath
			if row.OnPath < 0 || row.OnPath > row.Time+1e-6 && row.Phase < Start {
				t.Errorf("%+v", row)
			}
		}
		if want := milliseconds(last + time.Millisecond - time.Hour); timing.Total != want || math.Abs(sum-want) > 1e-3 {
			t.Errorf("the path adds up to %v, the total is %v, the run took %v", sum, timing.Total, want)
		}
	})
}

func TestFirstResultsAreThoseOfAllRanks(t *testing.T) {
	const ms = time.Millisecond
	launcher := []Span{{Phase: Fork, Begin: 0, End: ms}}
	whole := []Span{
		{Phase: Verify, Begin: 10 * ms, End: 30 * ms},
		{Phase: Measure, Begin: 30 * ms, End: 50 * ms},
		{Phase: Leave, Begin: 50 * ms, End: 55 * ms},
	}
	late := []Span{
		{Phase: Verify, Begin: 10 * ms, End: 40 * ms},
		{Phase: Measure, Begin: 40 * ms, End: 51 * ms},
		{Phase: Leave, Begin: 51 * ms, End: 55 * ms},
	}
	for _, c := range []struct {
		second   []Span
		verified float64
		result   float64
	}{{late, 40, 51}, {late[:2], 0, 0}, {nil, 0, 0}} {
		got := NewTiming(launcher, []Worker{{Rank: 0, Spans: whole}, {Rank: 1, Spans: c.second}})
		if got.FirstVerified != c.verified || got.FirstResult != c.result {
			t.Errorf("verified after %v and a result after %v, want %v and %v", got.FirstVerified, got.FirstResult, c.verified,
				c.result)
		}
	}
}

func TestStuckWorkersNeverExit(t *testing.T) {
	stuck := Worker{Rank: 0, Exited: SinceBoot(time.Time{}), Spans: []Span{{Phase: Init, Begin: 10, End: 20}}}
	for _, row := range NewTiming([]Span{{Phase: Fork, End: 30}}, []Worker{stuck}).Path {
		if row.Phase == Exit || row.Time < 0 {
			t.Errorf("%+v", row)
		}
	}
}

func TestTableNamesWhatMatters(t *testing.T) {
	timing := Timing{
		Total: 30, FirstVerified: 20, FirstResult: 25.04,
		Path: []Row{
			{Phase: Plan, Rank: -1, Time: 5, OnPath: 5},
			{Phase: Init, Rank: 3, Begin: 5, Time: 25, OnPath: 25},
			{Phase: Join, Rank: 1, Begin: 6, Time: 2, Concurrent: true},
		},
	}
	var out strings.Builder
	if err := timing.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := `PHASE              RANK   BEGIN ms    TIME ms    PATH ms
read settings         -        0.0        5.0        5.0
initialize driver     3        5.0       25.0       25.0
join                  1        6.0        2.0     beside
the first call was verified after 20.0 ms, the first result was reported after 25.0 ms, the run took 30.0 ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryPhaseHasItsName(t *testing.T) {
	if len(names()) != int(End)+1 {
		t.Fatalf("%d names for %d phases", len(names()), int(End)+1)
	}
	for p := Guard; p <= End; p++ {
		text, err := json.Marshal(Span{Phase: p})
		var back Span
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back.Phase != p {
			t.Errorf("%s became %s: %v", p, back.Phase, err)
		}
	}
	var p Phase
	if err := p.UnmarshalText([]byte("idle")); err == nil {
		t.Error("there is a phase idle")
	}
}

func TestStartOfThisProcess(t *testing.T) {
	self, err := procfs.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if self.Started > Now() {
		t.Errorf("started at %v, and it is %v", self.Started, Now())
	}
	if at := SinceBoot(time.Now().Add(-time.Minute)); Now()-at < time.Minute {
		t.Errorf("a minute ago was %v ago", Now()-at)
	}
}
