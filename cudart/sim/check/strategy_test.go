package check

import (
	"runtime"
	"strings"
	"testing"
)

// rare is a bug that shows only if rank 1, after much work of its own, is before the first store of rank 0.
func rare() []string {
	const work = "mov.u32 %i, 0; work: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 20000; @%p bra work;"
	return []string{
		"st.global.u32 [%x], 1;" + storeY,
		work + loadY + "setp.eq.u32 %p, %b, 0; @%p bra early; ret; early: st.global.u32 [%x], 2;",
	}
}

// Each strategy but random finds a bug that random misses in as many schedules.
func TestStrategiesFindARareBug(t *testing.T) {
	for _, test := range []struct {
		strategy Strategy
		finds    bool
	}{{Random, false}, {PCT, true}, {Late, true}, {Bounded, true}, {Exhaustive, true}} {
		e := explore(t, Exploration{Strategies: []Strategy{test.strategy}, Schedules: 24, Seed: 7}, rare()...)
		if found := len(e.Findings) > 0; found != test.finds || e.Err != nil {
			t.Errorf("%s in %d schedules: findings %v, error %v", test.strategy, e.Schedules, e.Findings, e.Err)
		}
	}
}

// Coverage tells which pairs of instructions were seen in both orders.
func TestCoverageOfOrders(t *testing.T) {
	for name, test := range map[string]struct {
		codes       []string
		pairs, both int
	}{
		"either order": {[]string{storeX, loadX}, 1, 1},
		"one order":    {[]string{storeX, awaitX}, 1, 0},
		"no pair":      {[]string{loadX, loadX}, 0, 0},
	} {
		e := exhaust(t, Exploration{}, test.codes...)
		if e.Pairs != test.pairs || e.BothOrders != test.both {
			t.Errorf("%s: %d of %d pairs in both orders, want %d of %d", name, e.BothOrders, e.Pairs, test.both, test.pairs)
		}
	}
}

// The number of processors makes no difference.
func TestProcessorsMakeNoDifference(t *testing.T) {
	run := func(processors int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return asJSON(t, explore(t, Exploration{Schedules: 12, Seed: 3, ShrinkRuns: 50}, rare()...))
	}
	if one, two := run(1), run(2); one != two {
		t.Errorf("with one processor:\n%s\nwith two:\n%s", one, two)
	}
}

// Warps that poll by compare-and-swap change nothing for one another: the rank that both wait for has its turns,
// however late it is.
func TestFailedCompareAndSwapChangesNothing(t *testing.T) {
	const await = "@L@: atom.relaxed.sys.global.cas.b32 %a, [%x], 1, 1; setp.ne.u32 %p, %a, 1; @%p bra @L@;"
	first, second := strings.ReplaceAll(await, "@L@", "first"), strings.ReplaceAll(await, "@L@", "second")
	e := explore(t, Exploration{Strategies: []Strategy{Late, PCT}, Schedules: 80, Seed: 5}, first, second, storeX)
	if !e.Clean() || e.Steps > 1<<16 {
		t.Errorf("%d steps, findings %v, incomplete %q, error %v", e.Steps, e.Findings, e.Incomplete, e.Err)
	}
}

// A loop that polls a word and counts in another one sees a new value each time, so it is not seen to wait. Whoever is
// to store the word has its turns, under each strategy.
func TestPollsThatCountLetOthersGoOn(t *testing.T) {
	const counts = "@L@: atom.relaxed.sys.global.add.u32 %b, [%y], 1; ld.acquire.sys.global.u32 %a, [%x];" +
		"setp.ne.u32 %p, %a, 1; @%p bra @L@;"
	checker, err := New(Config{Ranks: 3, Steps: 1 << 13})
	if err != nil {
		t.Fatal(err)
	}
	first, second := strings.ReplaceAll(counts, "@L@", "first"), strings.ReplaceAll(counts, "@L@", "second")
	task := runThreads(first, second, storeX)
	for _, s := range DefaultStrategies {
		for seed := range uint64(8) {
			r, err := checker.RunStrategy(s, seed, task)
			if err != nil || !r.Clean() {
				t.Errorf("%s, seed %d: %d steps, findings %v, error %v", s, seed, r.Steps, r.Findings, err)
			}
		}
	}
}

// Who alone can go on does so, however long it only reads.
func TestReaderAloneGoesOn(t *testing.T) {
	for _, s := range DefaultStrategies {
		e := explore(t, Exploration{Strategies: []Strategy{s}, Schedules: 2}, strings.Repeat(loadX, 3000))
		if !e.Clean() {
			t.Errorf("%s: findings %v, incomplete %q, error %v", s, e.Findings, e.Incomplete, e.Err)
		}
	}
}

// Time passes for a warp that waits for a moment in a turn without a limit.
func TestTimePassesWithinATurn(t *testing.T) {
	const stay = `.reg .b64 %t, %t0; mov.u64 %t0, %globaltimer; again: mov.u64 %t, %globaltimer; sub.u64 %t, %t, %t0;
		setp.lt.u64 %p, %t, 20000; @%p bra again;` + storeX
	for _, s := range DefaultStrategies {
		e := explore(t, Exploration{Strategies: []Strategy{s}, Schedules: 2}, stay, loadX)
		if !e.Clean() || e.WarpInstructions > 1<<13 {
			t.Errorf("%s: %d instructions, findings %v, error %v", s, e.WarpInstructions, e.Findings, e.Err)
		}
	}
}
