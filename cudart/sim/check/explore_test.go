package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("two workers report something else than one:\n%s", diff)
	}
	if one.Schedules != 12 || len(one.Findings) == 0 {
		t.Errorf("%+v", one)
	}
}
