package check

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A seed decides all that happens: two checkers do the same, and another seed something else.
func TestASeedIsASchedule(t *testing.T) {
	text := story(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	})
	var traces []uint64
	for seed := range uint64(8) {
		first, second := runStory(t, text, 128, seed), runStory(t, text, 128, seed)
		if first.Trace != second.Trace || first.Steps != second.Steps {
			t.Errorf("seed %d: traces %#x and %#x, %d and %d steps", seed, first.Trace, second.Trace, first.Steps, second.Steps)
		}
		traces = append(traces, first.Trace)
	}
	slices.Sort(traces)
	if n := len(slices.Compact(traces)); n < 8 {
		t.Errorf("8 seeds have %d schedules", n)
	}
}

// A run in which nothing can go on ends, names where the kernel polls, and has a finding.
func TestNothingCanGoOn(t *testing.T) {
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	text := story(map[string]string{"STORE": "st.relaxed.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32"})
	text = strings.Replace(text, "[%flag], 1", "[%flag], 0", 1)
	began := time.Now()
	r, err := c.Run(1, func(r *Rank) error { return passMessage(r, text, 32) })
	const place = "rank 1 block 0 warp 0 waits at story.cu:20, ld.acquire.sys"
	if err == nil || !strings.Contains(err.Error(), place) {
		t.Errorf("error %v after %v", err, time.Since(began))
	}
	if n := len(r.Findings); n == 0 || r.Findings[n-1].Kind != Deadlock {
		t.Errorf("the report is %+v", r)
	}
}

// A run that takes more steps than it may is not clean.
func TestBudget(t *testing.T) {
	c, err := New(Config{Ranks: 2, Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(1, func(r *Rank) error { return passMessage(r, story(nil), 32) })
	if err == nil || r.Clean() || !slices.Contains(r.Incomplete, "the run ended after 3 steps, its budget") {
		t.Errorf("error %v, report %+v", err, r)
	}
}

// What is not modeled is named, and makes a report incomplete.
func TestUnmodeledInstructionsAreNamed(t *testing.T) {
	for instruction, want := range map[string]string{
		"discard.global.L2 [%flag], 128;": "discard.global.L2 at line 35 of story.ptx: not modeled",
	} {
		r := runStory(t, story(map[string]string{
			"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32", "RECEIVER_BARRIER": instruction,
		}), 1, 1)
		if !slices.Equal(r.Incomplete, []string{want}) || len(r.Findings) > 0 {
			t.Errorf("%s: incomplete %q, findings %v", instruction, r.Incomplete, r.Findings)
		}
	}
}

// PTX for other devices is refused.
func TestPTXForOtherDevicesIsRefused(t *testing.T) {
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	text := story(map[string]string{"STORE": "st.u32", "LOAD": "ld.u32"})
	text = strings.Replace(text, ".target sm_80", ".target sm_120", 1)
	r, err := c.Run(1, func(r *Rank) error { return passMessage(r, text, 32) })
	if err == nil || !strings.Contains(err.Error(), "story.ptx is for sm_120") {
		t.Errorf("error %v", err)
	}
	if !slices.Contains(r.Incomplete, "the task of rank 0 failed") {
		t.Errorf("incomplete %q", r.Incomplete)
	}
}
