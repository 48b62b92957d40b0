package check

import (
	"strings"
	"testing"
)

// waitsFor polls the own word until it has a value.
func waitsFor(value string) string {
	return "\nagain:\n20: ld.acquire.sys.global.u32 %v, [%mine];\nsetp.ne.u32 %p, %v, " + value + ";\n@%p bra again;\n"
}

// A flag that is never reset lets the second launch of the receiver go on before the second launch of the sender. What
// looks like that and is right has no finding.
func TestStaleFlags(t *testing.T) {
	const receiver = onlyOne + "@%zero bra send;\n"
	flag := func(value, receive string) program {
		return program{
			body:     receiver + receive + "bra end;\nsend:\n10: st.release.sys.global.u32 [%peer], " + value + ";\nend:\n",
			launches: ones(3), seeds: 32,
		}
	}
	const stale = "stale-flag, an earlier launch has fulfilled the wait, 10-20-10"
	atLeast := strings.NewReplacer("setp.ne.u32", "setp.lt.s32")
	const reset = "30: st.relaxed.sys.global.u32 [%mine], 0;\n"
	flag("1", waitsFor("1")).expect(t, stale)
	handshake := onlyOne + `
	@%zero bra send;
	` + waitsFor("1") + reset + `
	st.release.sys.global.u32 [%peer+64], %n;
	bra end;
send:
	10: st.release.sys.global.u32 [%peer], 1;
back:
	40: ld.acquire.sys.global.u32 %v, [%mine+64];
	setp.lt.u32 %p, %v, %n;
	@%p bra back;
end:
`
	for name, p := range map[string]program{
		"an epoch that grows":              flag("%n", atLeast.Replace(waitsFor("%n"))),
		"a reader that may be steps ahead": flag("%n", "sub.u32 %w, %n, 2;\n"+atLeast.Replace(waitsFor("%w"))),
		"a flag that is reset":             {body: handshake, launches: ones(3), seeds: 32},
		"a flag that is set once": {
			body: receiver + waitsFor("1") + "bra end;\nsend:\nsetp.ne.u32 %p, %n, 1;\n@%p bra end;\n" +
				"10: st.release.sys.global.u32 [%peer], 1;\nend:\n", launches: ones(3), seeds: 32,
		},
		"a flag that this launch writes twice": {
			body: onlyOne + "@%zero bra send;\n" + waitsFor("1") + reset +
				"st.release.sys.global.u32 [%peer+64], %n;\nbra end;\n" +
				"send:\n10: st.release.sys.global.u32 [%peer], 1;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 2;\n@%p bra send;\n" +
				"back:\nld.acquire.sys.global.u32 %v, [%mine+64];\nsetp.lt.u32 %p, %v, %n;\n@%p bra back;\nend:\n",
			launches: ones(3), seeds: 32,
		},
		"a flag that several waits of a launch read": flag("%n", atLeast.Replace(waitsFor("%n"))+
			strings.ReplaceAll(atLeast.Replace(waitsFor("%n")), "again", "once_more")),
	} {
		t.Run(name, func(t *testing.T) { p.expect(t) })
	}
}

// Two blocks that signal by the same word overwrite each other's signal before it is read. That is a mistake where a
// wait needs the earlier value, and none where it ends by the later one.
func TestLostSignals(t *testing.T) {
	sender := func(write, want string) string {
		return onlyOne + "@%zero bra send;\n" + waitsFor(want) + "bra end;\nsend:\n" + write + "end:\n"
	}
	two := func(rank int) int { return 2 - rank }
	const numbered = "add.u32 %w, %block, 1;\n10: st.release.sys.global.u32 [%peer], %w;\n"
	found := program{body: sender(numbered, "1"), blocks: two, seeds: 32}.run(t)
	if _, ok := found["lost-signal, "+causeLost+", 10-20"]; !ok {
		t.Errorf("a wait for a value that was overwritten: found %v", found)
	}
	for name, f := range found {
		if f.Kind != LostSignal && f.Kind != Deadlock {
			t.Errorf("found %s: %v", name, f)
		}
	}
	replaced := func(body, old, by string) string { return strings.ReplaceAll(body, old, by) }
	add := replaced(sender(numbered, "3"), "st.release.sys.global.u32", "red.release.sys.global.add.u32")
	// Both epochs end the wait, whichever comes first; so does the second alone where both are written at once.
	for name, body := range map[string]string{
		"any value ends the wait": replaced(sender(numbered, "0"), "setp.ne", "setp.eq"),
		"atomic operations add":   add,
		"the same value":          replaced(sender(numbered, "1"), "%w, %block, 1", "%w, %zero32, 1"),
		"an epoch that grows": replaced(replaced(sender(
			"30: ld.acquire.sys.global.u32 %v, [%peer+64];\nsetp.lt.u32 %p, %v, %block;\n@%p bra send;\n"+numbered+
				"add.u32 %x, %block, 1;\nst.release.sys.global.u32 [%peer+64], %x;\n", "1"), "setp.ne", "setp.lt"),
			"bra end;\nsend", strings.NewReplacer("setp.ne", "setp.lt", "again", "more").Replace(waitsFor("2"))+
				"bra end;\nsend"),
	} {
		body = replaced(body, "add.u32 %w, %zero32, 1;", "mov.u32 %w, 1;")
		t.Run(name, func(t *testing.T) { program{body: body, blocks: two, seeds: 32}.expect(t) })
	}
	// A deadlock whose wait is another one: the waits that had two signals have ended by the later one.
	for name, p := range map[string]program{
		"another instruction waits": {body: replaced(replaced(sender(numbered, "1"), "setp.ne", "setp.lt"), "bra end;\nsend",
			replaced(waitsFor("3"), "again", "more")+"bra end;\nsend")},
		"the next launch waits": {
			body:     replaced(sender(numbered, "%n"), "setp.ne", "setp.lt"),
			launches: func(rank int) int { return 1 + 2*rank },
		},
		"another word is awaited": {body: replaced(replaced(sender(numbered, "0"), "setp.ne", "setp.eq"), "bra end;\nsend",
			strings.NewReplacer("again", "more", "mine", "mine+128").Replace(waitsFor("1"))+"bra end;\nsend")},
	} {
		p.blocks, p.seeds = two, 32
		for found := range p.run(t) {
			if strings.HasPrefix(found, string(LostSignal)) {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
}
