package check

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gpurun/cudart/sim/check/schedule"
)

// What an exploration reports does not depend on how many schedules run at the same time.
func TestExplorationDoesNotDependOnWorkers(t *testing.T) {
	text := story(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.relaxed.sys.global.u32",
		"SENDER_BARRIER": "", "RECEIVER_BARRIER": blockBarrier,
	})
	explore := func(workers int) *Explored {
		e, err := Explore(Config{Ranks: 2}, Exploration{Seed: 3, Schedules: 12, Workers: workers},
			func(r *Rank) error { return passMessage(r, text, 64) })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	one, two := explore(1), explore(2)
	if diff := cmp.Diff(asJSON(t, one), asJSON(t, two)); diff != "" {
		t.Errorf("two workers report something else than one:\n%s", diff)
	}
	if one.Schedules != 12 || len(one.Findings) == 0 {
		t.Errorf("%+v", one)
	}
}

// Another schedule begins while the first one runs, which tells others how long runs are.
func TestAScheduleRunsBesideTheFirst(t *testing.T) {
	var begun atomic.Int32
	second := make(chan struct{})
	task := func(*Rank) error {
		if begun.Add(1) == 2 {
			close(second)
		}
		select {
		case <-second:
			return nil
		case <-time.After(5 * time.Second):
			return errors.New("no other schedule runs")
		}
	}
	if e, err := Explore(Config{Ranks: 1}, Exploration{Schedules: 6, Workers: 2}, task); err != nil || e.Err != nil {
		t.Errorf("error %v, %v", err, e.Err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// racing is a task with a race that schedules show.
func racing(r *Rank) error {
	return passMessage(r, story(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32", "RECEIVER_BARRIER": blockBarrier,
		"SENDER_BARRIER": warpBarrier,
	}), 128)
}

// When the time of shrinking is over, schedules stay as they are.
func TestShrinkingEndsInTime(t *testing.T) {
	for _, c := range []struct {
		all, each time.Duration
		shrinks   bool
	}{
		{0, 0, true},
		{time.Nanosecond, 0, false},
		{time.Hour, time.Nanosecond, false},
	} {
		found := explore(t, Exploration{
			Strategies: []Strategy{Late}, Seed: 7, Schedules: 24, ShrinkRuns: 50, ShrinkTime: c.all, ShrinkEach: c.each,
		}, rare()...)
		if len(found.Findings) == 0 {
			t.Fatal("nothing was found")
		}
		if f := found.Findings[0]; f.Shrunk > 0 != c.shrinks || len(f.Schedule.Turns) == 0 {
			t.Errorf("%v, %v: shrunk from %d to %d decisions", c.all, c.each, f.Shrunk, len(f.Schedule.Turns))
		}
	}
}

// An exploration that is stopped returns what its schedules have found, and shrinks nothing.
func TestStoppedExplorationsReturnWhatTheyFound(t *testing.T) {
	stop := make(chan struct{})
	e := Exploration{Seed: 5, Schedules: 1 << 20, ShrinkRuns: 300, Stop: stop}
	e.Progress = func(c Coverage) {
		if c.Schedules == 4 {
			close(stop)
		}
	}
	found, err := Explore(Config{Ranks: 2}, e, racing)
	if err != nil || found.Err != nil || len(found.Findings) != 1 || found.Findings[0].Shrunk != 0 ||
		found.Schedules > 1<<10 {
		t.Errorf("error %v, %d schedules, findings %v", err, found.Schedules, found.Findings)
	}
}

// A run that is over ends between two turns.
func TestARunEndsWhenItIsOver(t *testing.T) {
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	over := func() bool { asked++; return asked > 2 }
	if r, err := c.runUntil(over, newRandom(1), racing); !errors.Is(err, errStopped) || r.steps == 0 || asked != 3 {
		t.Errorf("error %v, asked %d times, %d steps", err, asked, r.steps)
	}
}

// A schedule is shrunk to a few decisions that still show the finding, and its file runs again.
func TestShrinkingKeepsTheFinding(t *testing.T) {
	text := story(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32", "RECEIVER_BARRIER": blockBarrier,
		"SENDER_BARRIER": warpBarrier,
	})
	task := func(r *Rank) error { return passMessage(r, text, 128) }
	e, err := Explore(Config{Ranks: 2}, Exploration{Seed: 5, Schedules: 8, ShrinkRuns: 300}, task)
	if err != nil || len(e.Findings) != 1 {
		t.Fatalf("error %v, findings %v", err, e.Findings)
	}
	f := e.Findings[0]
	if len(f.Schedule.Turns) > 4 || f.Shrunk < 10 {
		t.Errorf("shrunk to %d of %d decisions: %v", len(f.Schedule.Turns), f.Shrunk, f.Schedule.Turns)
	}
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Parse([]byte(asJSON(t, f.Schedule)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Replay(s, task)
	if err != nil || len(r.Findings) != 1 {
		t.Fatalf("error %v, findings %v", err, r.Findings)
	}
	if shown := r.Findings[0].String(); shown != f.Finding.String() {
		t.Errorf("a replay shows\n%s\nand the report\n%s", shown, f.Finding)
	}
}

// An exploration ends when it has found something and then nothing more for a while, however many workers it has.
func TestExplorationEndsWhenFindingsAreStable(t *testing.T) {
	explore := func(text string, workers int) *Explored {
		e, err := Explore(Config{Ranks: 2}, Exploration{Seed: 3, Schedules: 40, Stable: 6, Workers: workers},
			func(r *Rank) error { return passMessage(r, text, 64) })
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	one, two := explore(racy(nil), 1), explore(racy(nil), 2)
	if len(one.Findings) == 0 || one.Schedules < 7 || one.Schedules >= 40 {
		t.Errorf("%d schedules, %d findings", one.Schedules, len(one.Findings))
	}
	if diff := cmp.Diff(asJSON(t, one), asJSON(t, two)); diff != "" {
		t.Errorf("two workers report something else than one:\n%s", diff)
	}
	if clean := explore(racy(map[string]string{"LOAD": "ld.acquire.sys.global.u32"}), 2); clean.Schedules != 40 {
		t.Errorf("without findings %d schedules, want 40: %v", clean.Schedules, clean.Findings)
	}
}
