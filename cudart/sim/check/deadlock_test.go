package check

import (
	"errors"
	"strings"
	"testing"
)

// Bodies of kernels in which rank 0 sends and rank 1 receives, thread 0 alone.
const (
	polls = `
again:
	20: ld.acquire.sys.global.u32 %v, [%mine];
	setp.lt.u32 %p, %v, %n;
	@%p bra again;
`
	send    = "10: st.release.sys.global.u32 [%peer], %n;\n"
	onlyOne = "@!%first bra end;\n"
)

// A wait that cannot end is found with its cause and its lines, and the twin that is right has no finding.
func TestDeadlocks(t *testing.T) {
	const receiver = onlyOne + "@%zero bra send;\n" + polls + "bra end;\nsend:\n"
	both := onlyOne + "WAIT FIRST\n" + polls + "SEND LAST\nend:\n"
	perBlock := onlyOne + "mad.wide.u32 %mine, %block, 4, %mine;\nmad.wide.u32 %peer, %block, 4, %peer;\n" + send +
		polls + "end:\n"
	lastSets := onlyOne + "setp.ne.u32 %p, %block, 0;\n@%p bra set;\n" + polls + "bra end;\nset:\n" +
		"setp.ne.u32 %p, %block, 3;\n@%p bra stay;\n10: st.release.sys.global.u32 [%mine], %n;\nbra end;\nstay:\n" +
		polls30 + "end:\n"
	const meets = "@!%first bra meet;\n@%zero bra send;\n" + polls + "bra meet;\nsend:\nSEND\nmeet:\nbar.sync 0;\n" +
		onlyOne + "30: st.release.sys.global.u32 [%peer+64], %n;\nend:\n"
	for name, c := range map[string]struct {
		wrong, right program
		want         string
	}{
		"nobody writes the word": {
			program{body: receiver + "10: st.release.sys.global.u32 [%peer+64], %n;\nend:\n"},
			program{body: receiver + send + "end:\n"},
			"deadlock, nobody who still runs writes the word, 20",
		},
		"only warps of the rank that waits have a write ahead, and ranks write to others": {
			program{body: strings.Replace(meets, "SEND", "10: st.release.sys.global.u32 [%peer+64], %n;", 1), threads: 64},
			program{body: strings.Replace(meets, "SEND", send, 1), threads: 64},
			"deadlock, nobody who still runs writes the word, 20",
		},
		"the value is not the one that is waited for": {
			program{body: receiver + "10: st.release.sys.global.u32 [%peer], 0;\nend:\n"},
			program{body: receiver + send + "end:\n"},
			"deadlock, nobody who still runs writes the word, 20",
		},
		"each rank waits first": {
			program{body: strings.NewReplacer("WAIT FIRST\n", "", "SEND LAST\n", send).Replace(both)},
			program{body: strings.NewReplacer("WAIT FIRST\n", send, "SEND LAST\n", "").Replace(both)},
			"deadlock, a cycle of waits between ranks, 20",
		},
		"more blocks than are resident": {
			program{body: lastSets, blocks: ones(4), resident: 3},
			program{body: lastSets, blocks: ones(4), resident: 4},
			"deadlock, blocks are not resident, 20",
		},
		"a rank has a smaller grid": {
			program{body: perBlock, blocks: func(rank int) int { return 2 - rank }},
			program{body: perBlock, blocks: ones(2)},
			"deadlock, grids differ between ranks, 20",
		},
		"a rank launches once less": {
			program{body: onlyOne + send + polls + "end:\n", launches: func(rank int) int { return 3 - rank }},
			program{body: onlyOne + send + polls + "end:\n", launches: ones(3)},
			"deadlock, a rank has not launched the kernel, 20",
		},
		"a rank ends before it has launched anything": {
			program{body: onlyOne + send + polls + "end:\n", launches: func(rank int) int { return 1 - rank }},
			program{body: onlyOne + send + polls + "end:\n"},
			"deadlock, a rank has not launched the kernel, 20",
		},
		"a wait that only its time-out ends": {
			program{body: onlyOne + timed + "end:\n"},
			program{body: onlyOne + send + timed + "end:\n"},
			"deadlock, nobody who still runs writes the word, 20",
		},
		"atomic operations poll, too": {
			program{body: onlyOne + "again:\n20: atom.acquire.gpu.global.cas.b32 %v, [%mine], 0, 1;\n" +
				"setp.ne.u32 %p, %v, 0;\n@%p bra again;\nUNLOCK\nend:\n", blocks: ones(2)},
			program{body: onlyOne + "again:\n20: atom.acquire.gpu.global.cas.b32 %v, [%mine], 0, 1;\n" +
				"setp.ne.u32 %p, %v, 0;\n@%p bra again;\nst.release.gpu.global.u32 [%mine], 0;\nend:\n", blocks: ones(2)},
			"deadlock, nobody who still runs writes the word, 20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.wrong.body = strings.ReplaceAll(c.wrong.body, "UNLOCK\n", "")
			c.wrong.expect(t, c.want)
			c.right.expect(t)
		})
	}
}

const polls30 = `
again30:
	30: ld.acquire.sys.global.u32 %v, [%mine];
	setp.ne.u32 %p, %v, %n;
	@%p bra again30;
`

// timed polls for a second of the kernel's clock.
const timed = `
	mov.u64 %t0, %globaltimer;
again:
	20: ld.acquire.sys.global.u32 %v, [%mine];
	setp.eq.u32 %p, %v, %n;
	@%p bra end;
	mov.u64 %t, %globaltimer;
	sub.u64 %t, %t, %t0;
	setp.lt.u64 %p, %t, 1000000000;
	@%p bra again;
`

// A loop that counts its polls ends by itself, and is no deadlock.
func TestCountedPollsAreNoDeadlock(t *testing.T) {
	program{body: onlyOne + `
again:
	20: ld.acquire.sys.global.u32 %v, [%mine];
	add.u32 %i, %i, 1;
	setp.lt.u32 %p, %i, 100;
	@%p bra again;
	end:
`}.expect(t)
}

// A stream that waits for a value that nobody writes is a deadlock, too.
func TestDeadlockOfAStream(t *testing.T) {
	for value, want := range map[uint32]int{5: 0, 4: 1} {
		c, err := New(Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run(0, func(r *Rank) error {
			word, err := r.Device.Malloc(256)
			if err != nil {
				return err
			}
			r.Name(word, 256, "word")
			writer, err := r.Device.NewStream()
			if err != nil {
				return err
			}
			reader, err := r.Device.NewStream()
			if err != nil {
				return err
			}
			return errors.Join(writer.WriteValue(word, value), reader.WaitValue(word, 5),
				reader.Synchronize(t.Context()))
		})
		if len(r.Findings) != want || (err != nil) != (want > 0) {
			t.Errorf("value %d: error %v, findings %v", value, err, r.Findings)
		}
		for _, f := range r.Findings {
			const line = "rank 0's stream 1 waits by WaitValue for rank 0's word at +0x0, which is 4 (tested: value - 5 < 0)"
			if f.Kind != Deadlock || f.Cause != causeNobody || !strings.Contains(f.String(), line) {
				t.Errorf("the finding is %v", f)
			}
		}
	}
}

// Which ranks have ended the launch is said of a word that nobody has written.
func TestDeadlockNamesRanksThatEnded(t *testing.T) {
	found := program{body: onlyOne + "@%zero bra end;\n" + polls + "end:\n"}.expect(t,
		"deadlock, nobody who still runs writes the word, 20")
	for _, f := range found {
		if want := "nobody has written the word; rank 0 ended launch 1 of run: "; !strings.HasPrefix(f.Advice, want) {
			t.Errorf("the advice is %q, and should begin with %q", f.Advice, want)
		}
	}
}

// The text of a deadlock is a wait-for graph: who waits, where, for which word, what it holds, how it is tested, and
// who could write it.
func TestTextOfADeadlock(t *testing.T) {
	found := program{body: onlyOne + `
again:
	20: ld.acquire.sys.global.u32 %v, [%mine+8];
	sub.s32 %x, %v, %n;
	setp.lt.s32 %p, %x, 0;
	@%p bra again;
	10: st.release.sys.global.u32 [%peer+8], %n;
end:
`}.expect(t, "deadlock, a cycle of waits between ranks, 20")
	const which = "which is 0 (tested: value - 1 < 0)"
	const want = `DEADLOCK  rank 0's flags at +0x8
  rank 0's host code waits: for the work on stream 0
    could be ended by rank 0 block 0 warp 0
  rank 1's host code waits: for the work on stream 0
    could be ended by rank 1 block 0 warp 0
  rank 0 block 0 warp 0 waits at program.cu:20, ld.acquire.sys.global.u32, for rank 0's flags at +0x8, ` + which + `
    could be ended by rank 1 block 0 warp 0
  rank 1 block 0 warp 0 waits at program.cu:20, ld.acquire.sys.global.u32, for rank 1's flags at +0x8, ` + which + `
    could be ended by rank 0 block 0 warp 0
  a cycle of waits between ranks
  rank 0 block 0 warp 0 waits for rank 1 block 0 warp 0, which waits for rank 0 block 0 warp 0: ` +
		"write one of the words before the wait\n"
	for _, f := range found {
		ordered := f.Waits[2].Rank == 0 // which launch began first depends on the schedule
		if text := f.String(); ordered && text != want {
			t.Errorf("got:\n%s\nwant:\n%s", text, want)
		}
	}
}

// A wait by == that misses its value, since the writer has gone on, is told so, and the twin that waits by >= is right.
// A word that goes up and down, as a lock, may come back: nothing is said of that.
func TestDeadlockOfAPassedWord(t *testing.T) {
	twice := func(first, second, relation, want string) program {
		return program{body: onlyOne + "@%zero bra send;\nagain:\n20: ld.acquire.sys.global.u32 %v, [%mine];\n" +
			"setp." + relation + ".u32 %p, %v, " + want + ";\n@%p bra again;\nbra end;\nsend:\n" +
			"10: st.release.sys.global.u32 [%peer], " + first + ";\n" +
			"11: st.release.sys.global.u32 [%peer], " + second + ";\nend:\n"}
	}
	twice("1", "3", "lt", "1").expect(t)
	for name, c := range map[string]struct {
		program
		cause string
	}{
		"the value was overwritten":   {twice("1", "3", "ne", "1"), causePassed},
		"the word has jumped past it": {twice("1", "3", "ne", "2"), causePassed},
		"the word is not there yet":   {twice("1", "3", "ne", "4"), causeNobody},
		"the word has shrunk":         {twice("5", "3", "ne", "2"), causeNobody},
		"a word that has to change":   {twice("1", "3", "eq", "3"), causeNobody},
		"a lock that is not released": {twice("1", "3", "ne", "0"), causeNobody},
	} {
		found := c.expect(t, "deadlock, "+c.cause+", 20")
		for _, f := range found {
			const want = "the wait needs exactly 1, and rank 0 block 0 warp 0 has written 3 at program.cu:11: " +
				"wait for at least 1, by >="
			if name == "the value was overwritten" && f.Advice != want {
				t.Errorf("%s: %s, want %s", name, f.Advice, want)
			}
		}
	}
}
