package check

import (
	"testing"

	"gpurun/cudart/sim/check/race"
)

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
				"STORE": "st.relaxed.sys.global.u32", "SENDER_FENCE": "@%first fence.acq_rel.sys;",
				"LOAD": "ld.relaxed.sys.global.u32",
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
			"bar.sync is missing between the write at story.cu:10 (PTX 20) and the flag's write at story.cu:12 (PTX 24)",
		},
		"the receiver reads soon": {
			map[string]string{"RECEIVER_BARRIER": warpBarrier},
			false,
			"bar.sync is missing between the flag's read at story.cu:20 (PTX 30) and the read at story.cu:22 (PTX 37)",
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

// Warps of a block that share memory are told where they have to meet, whichever came first.
func TestDiagnosisOfSharedMemory(t *testing.T) {
	p := program{
		body: "setp.ge.u32 %p, %tid, 32;\n@%p bra reader;\n@!%first bra done;\n10: st.shared.u32 [buffer], %tid;\n" +
			"bra done;\nreader:\n20: ld.shared.u32 %v, [buffer];\ndone:\n",
		threads: 64,
	}
	e, err := Explore(Config{Ranks: 2}, Exploration{Schedules: 8, ShrinkRuns: 4, Diagnose: true}, p.rank)
	if err != nil {
		t.Fatal(err)
	}
	const missing, write, read = "a barrier of the block, such as bar.sync, is missing between the ",
		"write at program.cu:10 (PTX 25)", "read at program.cu:20 (PTX 29)"
	if len(e.Findings) == 0 {
		t.Error("no finding")
	}
	for _, f := range e.Findings {
		if f.Advice != missing+write+" and the "+read && f.Advice != missing+read+" and the "+write {
			t.Errorf("%v", f.Finding)
		}
	}
}

// The write that should have come before the flag comes behind the read: the diagnosis is the same.
func TestDiagnosisOfALateWrite(t *testing.T) {
	text := story(map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32", "RECEIVER_BARRIER": blockBarrier,
	})
	late := 0
	for seed := range uint64(40) {
		c, err := New(Config{Ranks: 2, diagnoses: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.run(newRandom(seed), func(r *Rank) error { return passMessage(r, text, 64) })
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.diagnosed() {
			if f.Sides[1].Kind != race.Write {
				continue
			}
			late++
			const want = "bar.sync is missing between the write at story.cu:10 (PTX 20) and the flag's write at " +
				"story.cu:12 (PTX 24)"
			if f.Advice != want {
				t.Errorf("seed %d: %q, want %q", seed, f.Advice, want)
			}
		}
	}
	if late == 0 {
		t.Error("no write came late")
	}
}

// The advice keeps the scope of an instruction: one of .sys may be for other ranks, too.
func TestAdviceKeepsTheScope(t *testing.T) {
	for opcode, want := range map[string]string{
		"atom.relaxed.sys.global.add.u32": "atom.relaxed orders nothing: use atom.acq_rel.sys",
		"atom.relaxed.gpu.global.add.u32": "atom.relaxed orders nothing: use atom.acq_rel.gpu",
	} {
		side := Access{Text: opcode, Module: "m"}
		if got := stronger(side, side, &race.Diagnosis{}); got != want {
			t.Errorf("%s: %s, want %s", opcode, got, want)
		}
	}
}
