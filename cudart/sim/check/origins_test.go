package check

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"gpurun/cudart"
)

// A wrong value is traced to the store that wrote it, the load that was too early, and the store that came too late, or
// to the store that has left it out.
func TestWrongResultsAreTraced(t *testing.T) {
	const (
		load      = "20: ld.relaxed.sys.global.u32 %v, [%mine];\n"
		waits     = "again:\n" + load + "setp.ne.u32 %p, %v, %n;\n@%p bra again;\n"
		own       = "31: st.global.u32 [%mine+132], %n;\nend:\n"
		result    = "30: st.global.u32 [%mine+128], %v;\n" + own
		alone     = onlyOne + "@!%zero bra end;\n"
		early     = "wrong-result, a load came before the store of the same call, -10-20-30"
		computed  = "wrong-result, wrong, -30"
		atCompute = "no load is known to have come too early or too late: look at what the kernel computes"
		advice    = "rank 0 block 0 warp 0 read what "
		forThis   = ": wait for the store of the same call, or clear the word for it"
	)
	receives := func(wait string) string {
		const sends = "10: st.relaxed.sys.global.u32 [%peer], %n;\nbra end;\n"
		return onlyOne + "@%zero bra receive;\n" + sends + "receive:\n" + wait + result
	}
	for name, x := range map[string]struct {
		body         string
		launches     int
		sum          uint32
		want, advice string
	}{
		"a packet": {receives(waits), 1, 1, "", ""},
		"a packet that is not waited for": {
			receives(load), 1, 1, early, advice + "was there before the first store" + forThis,
		},
		"a packet of an earlier call": {
			receives(load), 2, 2, early, advice + "call 1 of run had left" + forThis,
		},
		"a store that is left out": {
			alone + own, 1, 1, "wrong-result, no store has written the element, -31",
			"compare the bounds of the stores with the number of elements",
		},
		"a flag of a later call": {
			onlyOne + "@%zero bra receive;\n10: st.global.u32 [%peer+64], %n;\nst.release.sys.global.u32 [%peer], %n;\n" +
				"bra end;\nreceive:\nagain:\nld.acquire.sys.global.u32 %w, [%mine];\nsetp.lt.u32 %p, %w, %n;\n@%p bra again;\n" +
				"20: ld.global.u32 %v, [%mine+64];\nsetp.ne.u32 %q, %n, 1;\n@%q bra end;\n" + result,
			2, 1, "wrong-result, a load came behind the store of a later call, -10-20-30",
			"a barrier of the ranks is missing behind the read by rank 0: rank 1's next call overwrites",
		},
		"a counter": {
			onlyOne + "10: red.release.sys.global.add.u32 [%mine], 1;\n" +
				"20: red.release.sys.global.add.u32 [%peer], 1;\n" + result,
			1, 7, computed, atCompute,
		},
		"a counter whose value is used": {
			onlyOne + "10: atom.release.sys.global.add.u32 %w, [%mine], 1;\n" +
				"20: atom.release.sys.global.add.u32 %w, [%peer], 1;\n" + result,
			1, 7, computed, atCompute,
		},
		"a load behind the store": {
			onlyOne + "@%zero bra receive;\nagain:\nld.relaxed.sys.global.u32 %w, [%mine+64];\nsetp.ne.u32 %p, %w, %n;\n" +
				"@%p bra again;\n10: st.relaxed.sys.global.u32 [%peer], %n;\nbra end;\nreceive:\n" +
				"30: st.global.u32 [%mine+128], %n;\n" + load + "st.relaxed.sys.global.u32 [%peer+64], %n;\n" + own,
			1, 7, computed, atCompute,
		},
		"a load that the store waits for": {
			onlyOne + "@%zero bra receive;\nagain:\nld.acquire.sys.global.u32 %w, [%mine];\nsetp.ne.u32 %p, %w, %n;\n" +
				"@%p bra again;\n10: st.global.u32 [%peer+64], %n;\nbra end;\nreceive:\n20: ld.global.u32 %v, [%mine+64];\n" +
				"st.release.sys.global.u32 [%peer], %n;\n" + result,
			1, 7, computed, atCompute,
		},
		"a packet of a later call": {
			onlyOne + "@%zero bra receive;\ncvt.u64.u32 %t, %n;\n10: st.relaxed.sys.global.u64 [%peer], %t;\nbra end;\n" +
				"receive:\nagain:\n20: ld.relaxed.sys.global.u64 %t, [%mine];\ncvt.u32.u64 %v, %t;\n" +
				"setp.lt.u32 %p, %v, %n;\n@%p bra again;\nsetp.ne.u32 %q, %n, 1;\n@%q bra end;\n" + result,
			2, 1, "wrong-result, a load came behind the store of a later call, -10-20-30",
			"a barrier of the ranks is missing behind the read by rank 0: rank 1's next call overwrites; " +
				"if the word is a flag without data, look at what the kernel computes",
		},
		"another value": {
			alone + result, 1, 1, computed, atCompute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := program{body: x.body, ranks: 2, threads: 32, launches: ones(x.launches)}
			e, err := Explore(Config{Ranks: 2}, Exploration{Schedules: 32, Diagnose: true}, p.summing(x.sum))
			if err != nil || e.Err != nil {
				t.Fatal(err, e.Err)
			}
			for i := range e.Findings { // short knows no origin
				e.Findings[i].Cause = cmp.Or(e.Findings[i].Origin, e.Findings[i].Cause)
			}
			i := slices.IndexFunc(e.Findings, func(f Found) bool { return f.Kind == WrongResult })
			switch {
			case i < 0 && x.want == "":
			case i < 0 || short(e.Findings[i].Finding) != x.want || e.Findings[i].Advice != x.advice:
				t.Errorf("findings %v, %s, want %s", e.Findings, short(e.Findings[max(i, 0)].Finding), x.want)
			}
		})
	}
}

// What a call should have restored has the store that changed it last, and no load is blamed.
func TestRestoredBuffersAreTraced(t *testing.T) {
	p := program{
		body:  onlyOne + "20: ld.relaxed.sys.global.u32 %v, [%mine];\n30: st.relaxed.sys.global.u32 [%peer], %n;\nend:\n",
		ranks: 2, threads: 32, launches: ones(2),
	}
	e, err := Explore(Config{Ranks: 2}, Exploration{Schedules: 4, Diagnose: true}, func(r *Rank) error {
		if err := p.rank(r); err != nil || r.Number > 0 {
			return err
		}
		if err := r.Meet(); err != nil {
			return err
		}
		names := r.run.memory.names
		mine := slices.IndexFunc(names, func(n named) bool { return n.rank == r.Number })
		r.AddWrongResult(Finding{
			Cause: "not restored", Where: "the flags",
			Sides: []Access{{Actor: Actor{Command: "call"}, Text: "signals"}},
		}, Output{At: cudart.DevicePtr(names[mine].begin), Bytes: 4, Restored: true})
		return nil
	})
	if err != nil || e.Err != nil {
		t.Fatal(err, e.Err)
	}
	i := slices.IndexFunc(e.Findings, func(f Found) bool { return f.Kind == WrongResult })
	const (
		want   = "wrong-result, not restored, -30"
		advice = "store the initial value again behind this store, in every call"
	)
	if f := e.Findings[max(i, 0)]; i < 0 || short(f.Finding) != want || f.Origin != "" || f.Advice != advice {
		t.Errorf("%v, want %s", e.Findings, want)
	}
}

// summing is a task whose rank 0 must have a sum behind its flags, at %mine+128.
func (p program) summing(want uint32) func(*Rank) error {
	return func(r *Rank) error {
		if err := p.rank(r); err != nil || r.Number > 0 {
			return err
		}
		s, err := r.Device.NewStream()
		if err != nil {
			return err
		}
		names := r.run.memory.names
		mine := slices.IndexFunc(names, func(n named) bool { return n.rank == r.Number })
		at, got := cudart.DevicePtr(names[mine].begin)+128, make([]byte, 8)
		if err := s.Copy(at, at, int64(len(got))); err != nil { // the stores are still known
			return err
		}
		if err := s.Download(got, at); err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(got) != want {
			r.AddWrongResult(Finding{
				Cause: "wrong", Sides: []Access{{Actor: Actor{Command: "call"}, Text: "sum"}}, Where: "the output", Advice: "none",
			}, Output{At: at, Bytes: int64(len(got))})
		}
		return nil
	}
}
