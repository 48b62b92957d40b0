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

// Two blocks that signal by the same word overwrite each other's signal before it is read.
func TestLostSignals(t *testing.T) {
	sender := func(write string) string {
		return onlyOne + "@%zero bra send;\n" + waitsFor("WANT") + "bra end;\nsend:\n" + write + "end:\n"
	}
	two := func(rank int) int { return 2 - rank }
	store := strings.NewReplacer("setp.ne.u32 %p, %v, WANT", "setp.eq.u32 %p, %v, 0").Replace(
		sender("add.u32 %w, %block, 1;\n10: st.release.sys.global.u32 [%peer], %w;\n"))
	found := program{body: store, blocks: two}.run(t)
	for name := range found {
		if name != "lost-signal, a signal was overwritten before anybody had read it, 10-20" {
			t.Errorf("found %s: %v", name, found[name])
		}
	}
	if len(found) != 1 {
		t.Errorf("%d findings, want 1", len(found))
	}
	add := sender("add.u32 %w, %block, 1;\n10: red.release.sys.global.add.u32 [%peer], %w;\n")
	add = strings.ReplaceAll(add, "WANT", "3")
	program{body: add, blocks: two}.expect(t)
	same := strings.ReplaceAll(sender("10: st.release.sys.global.u32 [%peer], 1;\n"), "WANT", "1")
	program{body: same, blocks: two}.expect(t)
}
