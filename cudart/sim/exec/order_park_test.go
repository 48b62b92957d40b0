package exec

import (
	"strings"
	"testing"
)

// waitForWord polls the word at data+2048 until it is not 0.
const waitForWord = `
	loop:
		ld.relaxed.sys.global.u32 %out, [%data+2048];
		setp.eq.u32 p, %out, 0;
		@p bra loop;
`

// While nothing changes, one warp of many polls.
func TestParkedWarpsDoNothing(t *testing.T) {
	var mem memory
	base := mem.allocate(4096)
	g := launchKernel(t, compileText(t, kernel(waitForWord)), "run",
		Config{Blocks: 4, Threads: 256, Params: words(base), Memory: &mem})
	turns := func(n int) uint64 {
		before := g.Stats().WarpInstructions
		for range n {
			if state, err := g.Turn(1 << 12); state != Idle || err != nil {
				t.Fatalf("state %d, error %v; want idle", state, err)
			}
		}
		return g.Stats().WarpInstructions - before
	}
	turns(5)
	if n := turns(40); hostOrdersAccesses && n > 40*6 {
		t.Errorf("40 turns of 32 warps took %d instructions; one warp needs at most 240", n)
	}
	mem.at(base)[2048] = 7
	for turn := 1; ; turn++ { // all of them notice it
		if state, err := g.Turn(1 << 12); err != nil || turn > 4 {
			t.Fatalf("turn %d after the write: error %v", turn, err)
		} else if state == Done {
			break
		}
	}
	if got := mem.at(base)[0]; got != 7 {
		t.Errorf("the warps read %d, want 7", got)
	}
}

// A loop that gives up after a number of polls ends in all warps, though a parked warp does not count.
func TestParkedWarpsGiveUp(t *testing.T) {
	const body = `
		mov.u32 %a, 0;
	loop:
		ld.relaxed.sys.global.u32 %out, [%data+2048];
		add.u32 %a, %a, 1;
		setp.eq.u32 p, %out, 0;
		setp.lt.and.u32 p, %a, 200, p;
		@p bra loop;
		mov.u32 %out, %a;
	`
	var mem memory
	base := mem.allocate(4096)
	g := launchKernel(t, compileText(t, kernel(body)), "run",
		Config{Blocks: 2, Threads: 128, Params: words(base), Memory: &mem})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	if got := mem.at(base)[0]; got != 200 {
		t.Errorf("a warp gave up after %d polls, want 200", got)
	}
}

// A warp that waits for something else than the sentinel is not forgotten when that never comes.
func TestParkedWarpPollsAfterAWhile(t *testing.T) {
	const body = `
		mov.u32 %a, %tid.x;
		setp.lt.u32 p, %a, 32;
		@p bra loop; // the first warp waits for ever
		mov.u64 %x, %globaltimer;
	timed:
		ld.relaxed.sys.global.u32 %out, [%data+2052];
		mov.u64 %y, %globaltimer;
		sub.u64 %y, %y, %x;
		setp.lt.u64 p, %y, 1000;
		@p bra timed;
		st.relaxed.sys.global.u32 [%data+2048], 1;
	loop:
		ld.relaxed.sys.global.u32 %out, [%data+2048];
		setp.eq.u32 p, %out, 0;
		@p bra loop;
	`
	var mem memory
	base := mem.allocate(4096)
	g := launchKernel(t, compileText(t, kernel(body)), "run", Config{Threads: 64, Params: words(base), Memory: &mem})
	clock := g.cfg.Clock.(*ticks)
	for range 20 {
		if _, err := g.Turn(1 << 12); err != nil {
			t.Fatal(err)
		}
	}
	clock.now += parkedTime + 1000
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
}

// While one warp waits for ever, another has work in its polling loop that a third one waits for. It goes on with it
// at each turn if others see the work, and at one of parkedTurns if they do not.
func TestPollingLoopThatAlsoWorks(t *testing.T) {
	const word, sharedWord = "global.u32 %out, [%data+2052];", "shared.u32 %out, [shared+8];"
	for work, tt := range map[string]struct {
		result string // what the third warp loads
		most   int    // turns
	}{
		"st.relaxed.sys.global.u32 [%data+2052], %b;":                                 {word, 200},
		"setp.lt.u32 p, %b, 100; @!p st.relaxed.sys.global.u32 [%data+2052], 100;":    {word, 101 * parkedTurns},
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%c+8], %b, [%c];": {sharedWord, 200},
	} {
		body := `
			mov.u32 %b, 0;
			mov.u32 %c, shared;
			setp.eq.u32 p, %tid, 0;
			@p mbarrier.init.shared.b64 [%c], 1;
			bar.sync 0;
			shr.u32 %a, %tid, 5;
			setp.eq.u32 p, %a, 0;
			@p bra loop; // the first warp waits for the third one
			setp.eq.u32 p, %a, 2;
			@p bra counted;
		working:
			add.u32 %b, %b, 1; ` + work + `
			ld.relaxed.sys.global.u32 %out, [%data+2056];
			setp.eq.u32 p, %out, 0;
			@p bra working;
			bra.uni loop;
		counted:
			ld.relaxed.sys.` + tt.result + `
			setp.lt.u32 p, %out, 100;
			@p bra counted;
			st.relaxed.sys.global.u32 [%data+2056], 1;
			st.relaxed.sys.global.u32 [%data+2048], 1;
		` + waitForWord
		var mem memory
		text := strings.Replace(kernel(body), ".version 7.8\n.target sm_80", ".version 8.1\n.target sm_90", 1)
		g := launchKernel(t, compileText(t, text), "run",
			Config{Threads: 96, Params: words(mem.allocate(4096)), Memory: &mem})
		for turn := 0; ; turn++ {
			state, err := g.Turn(1 << 12)
			if err != nil || turn > tt.most {
				t.Fatalf("%s: turn %d of %d: error %v", work, turn, tt.most, err)
			}
			if state == Done {
				break
			}
		}
	}
}

// A loop that only polls spins, by whatever branches its lanes go back. A loop that also stores where others may look does
// not, wherever in it the store is. A store to local memory is none of those.
func TestPollingLoopThatStores(t *testing.T) {
	const store, poll = "st.relaxed.gpu.global.u32 [%data+2052], 1; ", "ld.relaxed.gpu.global.u32 %out, [%data+2048]; "
	for work, want := range map[string]State{
		poll:                                  Idle,
		store + poll:                          Running,
		poll + store:                          Running,
		"st.shared.u32 [shared], 1; " + poll:  Running,
		"st.local.u32 [local], %tid; " + poll: Idle,
		poll + "setp.eq.u32 q, %tid, 0; @q bra loop; ":                                               Idle, // lane 0 goes back by another branch than the others
		poll + "st.local.u32 [local+4], %out; ":                                                      Idle,
		"mov.u64 %x, local; cvta.local.u64 %x, %x; loop2: st.u32 [%x], 1; " + poll + "@p bra loop2;": Idle,
	} {
		var mem memory
		body := "setp.eq.u32 p, %out, 0; loop: " + work + "@p bra loop;"
		g := launchKernel(t, compileText(t, kernel(body)), "run", Config{Params: words(mem.allocate(4096)), Memory: &mem})
		for range 3 {
			if _, err := g.Turn(1 << 10); err != nil {
				t.Fatalf("%s: %v", work, err)
			}
		}
		if state, err := g.Turn(1 << 10); state != want || err != nil {
			t.Errorf("%s: state %d, error %v; want state %d", work, state, err, want)
		}
	}
}

// Only polls that repeat what was seen before are nothing new.
func TestPollList(t *testing.T) {
	data := zeroed(64)
	var s watch
	at := newSpan(0, data).ptr
	s.load(at, 16)
	s.load(newSpan(0, data[32:]).ptr, 8)
	if s.turnBack() {
		t.Error("the first polls are nothing new")
	}
	s.load(newSpan(0, data[32:]).ptr, 8)
	if !s.turnBack() {
		t.Error("polling some of the same again is something new")
	}
	if s.polled.changed() {
		t.Error("changed before a write")
	}
	data[39] = 1
	if !s.polled.changed() {
		t.Error("a write goes unnoticed")
	}
	s.restart()
	s.load(newSpan(0, data[32:]).ptr, 8)
	if s.turnBack() {
		t.Error("another value is nothing new")
	}
	s.load(at, 16)
	if s.turnBack() {
		t.Error("another place is nothing new")
	}
}
