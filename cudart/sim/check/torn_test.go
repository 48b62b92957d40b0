package check

import (
	"strings"
	"testing"
)

// Vectors whose elements are not each tested are torn where the GPU stores them in pieces, and a note under the model
// of PTX where it does not.
func TestTornVectors(t *testing.T) {
	packet := func(store, load, test string) string {
		return onlyOne + "@%zero bra send;\nagain:\n20: " + load + ", [%mine];\n" + test + "@%p bra again;\nbra end;\n" +
			"send:\n10: " + strings.Replace(store, "TO", "[%peer]", 1) + ";\nend:\n"
	}
	const (
		last  = "setp.ne.u32 %p, %y, 7;\n"
		both  = "setp.ne.u32 %p, %w, 7;\nsetp.ne.or.u32 %p, %y, 7, %p;\n"
		all   = "and.b32 %v, %v, %w;\nand.b32 %x, %x, %y;\nand.b32 %v, %v, %x;\nsetp.ne.u32 %p, %v, 7;\n"
		four  = "{%v, %w, %x, %y}"
		two   = "{%v, %y}"
		seven = "{7, 7, 7, 7}"
	)
	const torn = "torn, a volatile store of 16 bytes is two of 8, 10-20"
	const note = "note: torn, each element of a vector is an access of its own, 10-20"
	for _, c := range []struct{ store, load, test, hardware, ptx string }{
		{"st.volatile.global.v4.u32 TO, " + seven, "ld.volatile.global.v4.u32 " + four, last, torn, torn},
		{"st.volatile.global.v4.u32 TO, " + seven, "ld.volatile.global.v4.u32 " + four, both, "", note},
		{"st.volatile.global.v4.u32 TO, " + seven, "ld.volatile.global.v4.u32 " + four, all, "", ""},
		{"st.volatile.global.v2.u32 TO, {7, 7}", "ld.volatile.global.v2.u32 " + two, last, "", note},
		{"st.relaxed.sys.global.v2.u32 TO, {7, 7}", "ld.relaxed.sys.global.v2.u32 " + two, last, "", note},
		{"st.relaxed.sys.global.v4.u32 TO, " + seven, "ld.relaxed.sys.global.v4.u32 " + four, last, "", note},
		{"st.relaxed.sys.global.v4.u32 TO, " + seven, "ld.relaxed.sys.global.v4.u32 " + four, all, "", ""},
		{"st.relaxed.sys.global.u32 TO, 7", "ld.relaxed.sys.global.u32 %v", strings.Replace(last, "%y", "%v", 1), "", ""},
	} {
		for model, want := range []string{c.hardware, c.ptx} {
			p := program{body: packet(c.store, c.load, c.test), model: Model(model)}
			if want == "" {
				p.expect(t)
			} else {
				p.expect(t, want)
			}
		}
	}
}

// What only PTX forbids is no finding under the hardware's model, and a note under that of PTX.
func TestReuseBehindARelaxedFlag(t *testing.T) {
	const body = `
	mad.wide.u32 %a, %tid, 4, %mine;
	mad.wide.u32 %b, %tid, 4, %peer;
	@%zero bra read;
	@!%first bra polled;
again:
	20: ld.relaxed.sys.global.u32 %v, [%mine];
	setp.ne.u32 %p, %v, 1;
	@%p bra again;
polled:
	bar.sync 0;
	30: st.global.u32 [%a+256], 5;
	bra end;
read:
	10: ld.global.u32 %v, [%b+256];
	BARRIER
	@%first st.relaxed.sys.global.u32 [%peer], 1;
end:
`
	right := strings.Replace(body, "BARRIER", "bar.sync 0;", 1)
	program{body: right, threads: 64}.expect(t)
	program{body: right, threads: 64, model: ModelPTX}.expect(t, "note: race, nothing orders them, 10-30")
	wrong := strings.Replace(body, "BARRIER", "", 1)
	if found := (program{body: wrong, threads: 64}).run(t); found["race, nothing orders them, 10-30"].Count == 0 {
		t.Errorf("without the barrier: found %v", found)
	}
}
