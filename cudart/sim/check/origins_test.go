package check

import (
	"encoding/binary"
	"slices"
	"testing"

	"gpurun/cudart"
)

// A wrong value is traced to the store that wrote it, the load that was too early, and the store that came too late, or
// to the store that has left it out.
func TestWrongResultsAreTraced(t *testing.T) {
	const (
		load    = "20: ld.relaxed.sys.global.u32 %v, [%mine];\n"
		waits   = "again:\n" + load + "setp.ne.u32 %p, %v, %n;\n@%p bra again;\n"
		own     = "31: st.global.u32 [%mine+132], %n;\nend:\n"
		result  = "30: st.global.u32 [%mine+128], %v;\n" + own
		alone   = onlyOne + "@!%zero bra end;\n"
		advice  = "rank 0 block 0 warp 0 read what "
		forThis = ": wait for the store of the same call, or clear the word for it"
	)
	receives := func(wait string) string {
		const sends = "10: st.relaxed.sys.global.u32 [%peer], %n;\nbra end;\n"
		return onlyOne + "@%zero bra receive;\n" + sends + "receive:\n" + wait + result
	}
	for name, x := range map[string]struct {
		body         string
		launches     int
		want, advice string
	}{
		"a packet": {receives(waits), 1, "", ""},
		"a packet that is not waited for": {
			receives(load), 1, "wrong-result, wrong, -10-20-30", advice + "was there before the first store" + forThis,
		},
		"a packet of an earlier call": {
			receives(load), 2, "wrong-result, wrong, -10-20-30", advice + "call 1 of run had left" + forThis,
		},
		"a store that is left out": {
			alone + own, 1, "wrong-result, no store has written the element, -31", "none",
		},
		"another value": {alone + result, 1, "wrong-result, wrong, -30", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			p := program{body: x.body, ranks: 2, threads: 32, launches: ones(x.launches)}
			e, err := Explore(Config{Ranks: 2}, Exploration{Schedules: 32, Diagnose: true}, p.summing(uint32(x.launches)))
			if err != nil || e.Err != nil {
				t.Fatal(err, e.Err)
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
