package check

import (
	"errors"
	"strings"
	"testing"

	"gpurun/cudart/sim/check/schedule"
)

// eager lets the warp of rank 1 go on whenever it can, and lets the others make one step in between. So it shows which
// steps wake that warp, and counts its turns.
type eager struct{ turns int }

func (s *eager) choose(r *run) choice {
	var poller, other *actor
	r.candidates(func(a *actor) bool {
		switch {
		case !r.canGoOn(a):
		case a.task != nil && a.id.Rank == 1:
			poller = a
		case other == nil || a.id.Compare(other.id) > 0: // rank 1 comes to its loop first
			other = a
		}
		return true
	})
	const many = 100
	if poller != nil {
		s.turns++
		if s.turns == many {
			return choice{end: errors.New("the warp polls all the time")}
		}
		return untilItWaits(poller)
	}
	return choice{actor: other, most: 1, accesses: -1}
}

// A warp that polls is parked when its loop has seen nothing new. It has a turn for each change of a word that it
// polls, and for nothing else. The replay has the same turns.
func TestParkedWarpIsWokenByItsWordsAlone(t *testing.T) {
	const (
		one = `
again:
	ld.acquire.sys.global.u32 %v, [%mine];
	setp.ne.u32 %p, %v, 99;
	@%p bra again;
`
		two = `
again:
	ld.relaxed.sys.global.u32 %w, [%mine+64];
	ld.acquire.sys.global.u32 %v, [%mine];
	setp.ne.u32 %p, %v, 99;
	@%p bra again;
`
		lanes = `
	mad.wide.u32 %a, %tid, 4, %mine;
again:
	ld.acquire.sys.global.u32 %v, [%a];
	ld.acquire.sys.global.u32 %w, [%mine];
	setp.ne.u32 %p, %w, 99;
	@%p bra again;
`
	)
	for name, c := range map[string]struct {
		loop   string
		writes string // by thread 0 of rank 0, before it ends the loop
		wakes  int    // turns for these
	}{
		"nothing":                         {one, "", 0},
		"another value":                   {one, "st.relaxed.sys.global.u32 [%peer], 5;", 1},
		"another value, and back":         {one, "st.global.u32 [%peer], 5; st.global.u32 [%peer], 0;", 2},
		"the same value":                  {one, "st.relaxed.sys.global.u32 [%peer], 0;", 0},
		"the word behind it":              {one, "st.relaxed.sys.global.u32 [%peer+4], 5;", 0},
		"its last byte":                   {one, "st.relaxed.sys.global.u8 [%peer+3], 1;", 1},
		"the same byte":                   {one, "st.relaxed.sys.global.u8 [%peer+3], 0;", 0},
		"half of it":                      {one, "st.relaxed.sys.global.u16 [%peer+2], 1;", 1},
		"a vector with the same value":    {one, "st.global.v2.u32 [%peer], {0, 5};", 0},
		"a vector with another value":     {one, "st.global.v2.u32 [%peer], {5, 0};", 1},
		"a weak store":                    {one, "st.global.u32 [%peer], 5;", 1},
		"an atomic operation":             {one, "atom.relaxed.sys.global.add.u32 %v, [%peer], 5;", 1},
		"an atomic operation that adds 0": {one, "atom.relaxed.sys.global.add.u32 %v, [%peer], 0;", 0},
		"a compare-and-swap that fails":   {one, "atom.relaxed.sys.global.cas.b32 %v, [%peer], 1, 5;", 0},
		"the other word of the loop":      {two, "st.relaxed.sys.global.u32 [%peer+64], 5;", 1},
		"the first word of the loop":      {two, "st.relaxed.sys.global.u32 [%peer], 5;", 1},
		"between the words of the loop":   {two, "st.relaxed.sys.global.u32 [%peer+32], 5;", 0},
		"the word of the last lane":       {lanes, "st.relaxed.sys.global.u32 [%peer+124], 5;", 1},
		"behind the word of the last":     {lanes, "st.relaxed.sys.global.u32 [%peer+128], 5;", 0},
	} {
		t.Run(name, func(t *testing.T) {
			body := "@!%zero bra polls;\n@!%first bra end;\n" + strings.ReplaceAll(c.writes, "; ", ";\n") +
				"\nst.release.sys.global.u32 [%peer], 99;\nbra end;\npolls:\n" + c.loop + "end:\n"
			p := program{body: body, ranks: 2, threads: 32}
			checker, err := New(Config{Ranks: 2})
			if err != nil {
				t.Fatal(err)
			}
			s := &eager{}
			r, err := checker.run(s, p.rank)
			if err != nil {
				t.Fatal(err)
			}
			const ends = 2 // it comes to its loop, and goes on when that ends
			if s.turns != ends+c.wakes {
				t.Errorf("%d turns of the warp that polls, want %d", s.turns, ends+c.wakes)
			}
			report := r.report()
			report.Schedule = r.recorded(Random, 0)
			recorded, err := schedule.Parse([]byte(asJSON(t, report.Schedule)))
			if err != nil {
				t.Fatal(err)
			}
			again, err := checker.Replay(recorded, p.rank)
			if err != nil || again.Trace != report.Trace || asJSON(t, again.Findings) != asJSON(t, report.Findings) {
				t.Errorf("the replay: error %v, traces %#x and %#x", err, again.Trace, report.Trace)
			}
		})
	}
}

// While a parked warp is not woken, the run makes no steps for it, however long the other rank works.
func TestParkedWarpTakesNoSteps(t *testing.T) {
	const work = "work: add.u32 %i, %i, 1;\nst.relaxed.sys.global.u32 [%peer+4], %i;\n" +
		"setp.lt.u32 %p, %i, 500;\n@%p bra work;\n"
	p := program{ranks: 2, threads: 32, body: "@!%zero bra polls;\n@!%first bra end;\n" + work +
		"st.release.sys.global.u32 [%peer], 99;\nbra end;\npolls:\nagain: ld.acquire.sys.global.u32 %v, [%mine];\n" +
		"setp.ne.u32 %p, %v, 99;\n@%p bra again;\nend:\n"}
	checker, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := &eager{}
	if _, err := checker.run(s, p.rank); err != nil || s.turns != 2 {
		t.Errorf("%d turns, error %v; want 2 turns while another word changes 500 times", s.turns, err)
	}
}
