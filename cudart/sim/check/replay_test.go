package check

import (
	"errors"
	"testing"

	"gpurun/cudart/sim/check/schedule"
)

// racy is a message whose poll is relaxed, and in which all warps take part.
func racy(words map[string]string) string {
	return story(with(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.relaxed.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	}, words))
}

// The schedule of a run, written as a file and read again, is the same run, for each strategy.
func TestReplayIsTheSameRun(t *testing.T) {
	text := racy(nil)
	task := func(r *Rank) error { return passMessage(r, text, 256) }
	for _, s := range []Strategy{Random, PCT, Late, Bounded} {
		traces := map[uint64]bool{}
		for seed := range uint64(8) {
			c, err := New(Config{Ranks: 2})
			if err != nil {
				t.Fatal(err)
			}
			first, err := c.RunStrategy(s, seed, task)
			if err != nil {
				t.Fatal(err)
			}
			traces[first.Trace] = true
			file := asJSON(t, first.Schedule)
			recorded, err := schedule.Parse([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			again, err := c.Replay(recorded, task)
			if err != nil {
				t.Errorf("%s, seed %d: %v", s, seed, err)
			}
			if first.Trace != again.Trace || asJSON(t, first.Findings) != asJSON(t, again.Findings) ||
				asJSON(t, again.Schedule) != file {
				t.Errorf("%s, seed %d: traces %#x and %#x", s, seed, first.Trace, again.Trace)
			}
		}
		if len(traces) < 4 {
			t.Errorf("%s: 8 seeds have %d schedules", s, len(traces))
		}
	}
}

// A schedule of another kernel is not replayed in silence.
func TestReplayOfAnotherKernel(t *testing.T) {
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(1, func(r *Rank) error { return passMessage(r, racy(nil), 64) })
	if err != nil {
		t.Fatal(err)
	}
	other := racy(map[string]string{"SENDER_FENCE": "fence.acq_rel.sys;"})
	_, err = c.Replay(r.Schedule, func(r *Rank) error { return passMessage(r, other, 64) })
	if !errors.Is(err, ErrOtherRun) {
		t.Errorf("error %v", err)
	}
}
