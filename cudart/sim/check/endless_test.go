package check

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A loop that decides by what it has loaded once never ends. The run ends with its budget, and the finding says where
// the loop is. A loop that counts in memory is not one, though it uses up the budget as well.
func TestEndlessLoop(t *testing.T) {
	const once = onlyOne + `
	10: ld.acquire.sys.global.u32 %v, [%mine];
again:
	20: setp.lt.u32 %p, %v, %n;
	21: @%p bra again;
end:
`
	const counted = onlyOne + `
again:
	20: atom.relaxed.gpu.global.add.u32 %v, [%mine], 1;
	setp.lt.u32 %p, %v, 1000000;
	21: @%p bra again;
end:
`
	for name, c := range map[string]struct {
		body string
		want bool
	}{"loaded once": {once, true}, "counted in memory": {counted, false}} {
		for _, s := range []Strategy{Random, Late, PCT, Bounded} {
			checker, err := New(Config{Ranks: 2, Steps: 400})
			if err != nil {
				t.Fatal(err)
			}
			r, err := checker.RunStrategy(s, 1, program{body: c.body, threads: 32}.rank)
			if err == nil || len(r.Incomplete) == 0 || !strings.HasSuffix(r.Incomplete[0], " steps, its budget") {
				t.Errorf("%s, %v: error %v, incomplete %q", name, s, err, r.Incomplete)
			}
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == EndlessLoop })
			if i >= 0 != c.want {
				t.Errorf("%s, %v: findings %v", name, s, r.Findings)
			}
			if i < 0 {
				continue
			}
			if at := line(r.Findings[i].Sides[0]); at != "20" && at != "21" {
				t.Errorf("%s, %v: the loop is at %s:\n%v", name, s, at, r.Findings[i])
			}
		}
	}
}

// A warp may execute only so many instructions without a strong access, however many steps the run may take.
func TestLoopsAreBounded(t *testing.T) {
	const ends = onlyOne + `
	mov.u32 %v, 0;
again:
	add.u32 %v, %v, 1;
	setp.lt.u32 %p, %v, 1000;
	@%p bra again;
end:
`
	const pauses = onlyOne + `
	.reg .b32 %inner;
again:
	mov.u32 %inner, 0;
pause:
	add.u32 %inner, %inner, 1;
	setp.lt.u32 %p, %inner, 300;
	@%p bra pause;
	atom.relaxed.gpu.global.add.u32 %v, [%mine], 1;
	setp.lt.u32 %p, %v, 20;
	@%p bra again;
end:
`
	const bound = 4000 // the loops that end take 3000, and 20 times 900 with a strong access behind each
	const want = "the run ended after 4000 instructions of a warp without a strong access, its budget"
	for _, s := range []Strategy{Random, Late, PCT, Bounded} {
		checker, err := New(Config{Ranks: 2, Loop: bound})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{ends, pauses} {
			r, err := checker.RunStrategy(s, 1, program{body: body, threads: 32}.rank)
			if err != nil || !r.Clean() {
				t.Errorf("%v, a loop that ends: error %v, incomplete %q, findings %v", s, err, r.Incomplete, r.Findings)
			}
		}
		r, err := checker.RunStrategy(s, 1, program{body: strings.Replace(ends, "1000", "0xffffffff", 1), threads: 32}.rank)
		if !errors.Is(err, ErrBudget) || !slices.Equal(r.Incomplete, []string{want}) {
			t.Errorf("%v: error %v, incomplete %q", s, err, r.Incomplete)
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != EndlessLoop {
			t.Errorf("%v: findings %v", s, r.Findings)
		}
	}
}
