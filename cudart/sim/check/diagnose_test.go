package check

import "testing"

// A race that nothing orders says what would order it: an instruction of the flag, or a barrier of a block.
func TestDiagnosis(t *testing.T) {
	right := map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	}
	for name, c := range map[string]struct {
		change map[string]string
		flag   bool
		want   string
	}{
		"the flag is relaxed": {
			map[string]string{"STORE": "st.relaxed.sys.global.u32"}, true, "st.relaxed orders nothing: use st.release.sys",
		},
		"the poll is relaxed": {
			map[string]string{"LOAD": "ld.relaxed.sys.global.u32"}, true, "ld.relaxed orders nothing: use ld.acquire.sys",
		},
		"both are volatile": {
			map[string]string{"STORE": "st.volatile.global.u32", "LOAD": "ld.volatile.global.u32"},
			true,
			"st.volatile and ld.volatile order nothing: use st.release.sys and ld.acquire.sys",
		},
		"a fence before the flag": {
			map[string]string{
				"STORE": "st.relaxed.sys.global.u32", "SENDER_FENCE": "@%first fence.acq_rel.sys;", "LOAD": "ld.relaxed.sys.global.u32",
			}, true, "ld.relaxed orders nothing: use ld.acquire.sys",
		},
		"a fence behind the poll": {
			map[string]string{
				"STORE": "st.relaxed.sys.global.u32", "RECEIVER_FENCE": "fence.acq_rel.sys;", "LOAD": "ld.relaxed.sys.global.u32",
			}, true, "st.relaxed orders nothing: use st.release.sys",
		},
		"the sender signals soon": {
			map[string]string{"SENDER_BARRIER": warpBarrier},
			false,
			"bar.sync is missing between PTX line 20 (write) and the flag's write at PTX line 24",
		},
		"the receiver reads soon": {
			map[string]string{"RECEIVER_BARRIER": warpBarrier},
			false,
			"bar.sync is missing between the flag's read at PTX line 30 and PTX line 37 (read)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := story(with(right, c.change))
			e, err := Explore(Config{Ranks: 2}, Exploration{Schedules: 8, ShrinkRuns: 4, Diagnose: true},
				func(r *Rank) error { return passMessage(r, text, 64) })
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Findings) != 1 {
				t.Fatalf("%d findings, want 1: %v", len(e.Findings), e.Findings)
			}
			if f := e.Findings[0]; f.Advice != c.want || (f.Flag != nil) != c.flag {
				t.Errorf("got:\n%v\nwant: %s", f.Finding, c.want)
			}
		})
	}
}
