package litmus

import (
	"errors"
	"strings"
	"testing"
)

// small is a test with everything that the format has.
const small = `PTX small
"a description { with braces }"
(* and a
comment *)
{
x=0; y = 0x10;
P1:r3=-2;
z @ generic aliases x;
}
 P0@cta 0,gpu 0            | P1@cta 1, gpu 2 ;
 st.weak x, 1              | LC00: ld.acquire.sys r0, [y] ; // a comment of a line
 fence.sc.gpu              | beq r0, 0, LC00 ;
 membar.gl                 | ld.volatile r1, z ;
 atom.acq_rel.gpu.cas r0, y, 0, 1 | add r2, r1, r3 ;
 bar.cta.sync 1, 2, 1      | goto LC01 ;
 red.add y, r0             | ld r1, 7 ;
                           | LC01: ;
locations [x; y;]
filter (P0:r0 != 3)
~exists (1:r0 == 1 /\ ~(P1:r1 = 0 \/ [y] > 2));
`

func TestParse(t *testing.T) {
	test, err := Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	if test.Name != "small" || len(test.Threads) != 2 || test.Threads[1].GPU != 2 || test.Quantifier != NotExists ||
		test.Filter == nil {
		t.Errorf("the test is %+v", test)
	}
	if l := test.Locations; len(l) != 3 || l[1].Initial != 16 || l[2].Memory != 0 || l[2].Generic != 2 {
		t.Errorf("the locations are %+v", l)
	}
	first, second := test.Threads[0].Code, test.Threads[1].Code
	if len(first) != 6 || len(second) != 6 {
		t.Fatalf("%d and %d instructions", len(first), len(second))
	}
	if f := first[2]; f.Opcode != Fence || f.Order != SequentiallyConsistent || f.Scope != GPU {
		t.Errorf("membar.gl is %+v", f)
	}
	if a := first[3]; a.Opcode != Atomic || a.Order != AcquireRelease || a.Operation != "cas" || len(a.Operands) != 2 ||
		a.Line != 14 {
		t.Errorf("atom.cas is %+v", a)
	}
	if r := first[5]; r.Order != Relaxed || r.Scope != GPU || r.Register != -1 {
		t.Errorf("red.add is %+v", r)
	}
	if second[1].Target != 0 || second[4].Target != 6 || second[5].Opcode != Move {
		t.Errorf("the second thread is %+v", second)
	}
	if v := second[2]; v.Order != Relaxed || v.Scope != System {
		t.Errorf("ld.volatile is %+v", v)
	}
	if test.Threads[1].Registers[0].Initial != -2 {
		t.Errorf("the registers are %+v", test.Threads[1].Registers)
	}
}

// What is wrong is refused with its line, and what is not modeled by its name.
func TestParseErrors(t *testing.T) {
	for cell, want := range map[string]string{
		"ld.weak r0":                "line 4: ld.weak r0: 1 operands, and 2 are needed",
		"ld.weak q, x":              `line 4: ld.weak q, x: "q" is no register; registers are called r0, r1 and so on`,
		"ld.release.gpu r0, x":      "line 4: ld.release.gpu r0, x: no access of this kind has that order",
		"st.acquire.gpu x, 1":       "line 4: st.acquire.gpu x, 1: no access of this kind has that order",
		"atom.sc.gpu.add r0,x,1":    "line 4: atom.sc.gpu.add r0,x,1: no access of this kind has that order",
		"st.relaxed x, 1":           "line 4: st.relaxed x, 1: the scope is missing: .cta, .gpu or .sys",
		"st.weak.gpu x, 1":          "line 4: st.weak.gpu x, 1: a weak or volatile access has no scope .gpu",
		"st.weak.v2 x, 1":           "line 4: st.weak.v2 x, 1: unknown qualifier .v2",
		"st.weak x, q":              `line 4: st.weak x, q: "q" is neither a register nor a number`,
		"red.relaxed.gpu.cas x,0,1": "line 4: red.relaxed.gpu.cas x,0,1: no operation that red has",
		"bne r0, 1, LC07":           "line 4: P0 has no label LC07",
		"LC00: LC00: st.weak x, 1":  "line 4: label LC00 stands twice in P0",
		"st.weak x, 1 | ":           "line 4: 2 columns for 1 threads",
		"bar.arrive 0":              "line 4: bar.arrive 0: it needs the number of threads as its second operand",
		"st.relaxed.cluster x,1":    "line 4: the scope .cluster is not modeled",
		"fence.relaxed.gpu":         "line 4: fence.relaxed.gpu: no fence has that order",
		"fence.proxy.async":         "line 4: fence.proxy.async is not modeled",
		"mbarrier.init x, 1":        "line 4: the instruction mbarrier.init is not modeled",
		"bar.red 0":                 "line 4: a barrier other than .sync and .arrive is not modeled",
	} {
		_, err := Parse("PTX t\n{ x=0 }\nP0@cta 0,gpu 0 ;\n" + cell + " ;\nexists (x == 1)")
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", cell, err, want)
		}
		var missing *Unsupported
		if errors.As(err, &missing) != strings.HasSuffix(want, "is not modeled") {
			t.Errorf("%s: %v is of the wrong type", cell, err)
		}
	}
	for text, want := range map[string]string{
		"":                                    `line 1: a test begins with PTX and its name, not with ""`,
		"PTX t":                               "line 1: the test has no initial state; write {} in front of the threads",
		"PTX t\n{ x=0":                        "line 2: the initial state has no closing brace",
		"PTX t\n{ x=y }\nP0@cta 0,gpu 0;":     "line 2: an address as a value (x=y) is not modeled",
		"PTX t\n{ x=0;\nx=1 }":                "line 3: x is declared twice",
		"PTX t\n{ y @ generic aliases x }":    "line 2: y aliases x, which is not declared in front of it",
		"PTX t\n{ P3:r0=1 }\nP0@cta 0,gpu 0;": "line 2: there is no thread P3",
		"PTX t\n{}\nP0@cta 0;":                `line 3: "P0@cta 0" is no thread; write P0@cta 0,gpu 0`,
		"PTX t\n{}\nP0@cta 0,gpu 0;\nexists (x == 1": `line 4: in the condition: "x" is ` +
			"neither a register, such as P0:r0, nor a location, nor a number",
		"PTX t\n{x=0}\nP0@cta 0,gpu 0;\nexists (x == 1": `line 4: in the condition: ` +
			`a closing parenthesis is missing in front of ""`,
		"PTX t\n{x=0}\nP0@cta 0,gpu 0;\nexists (x 1)":   "line 4: in the condition: a comparison is missing, such as ==",
		"PTX t\n{x=0}\nP0@cta 0,gpu 0;\nfinal (x == 1)": `line 4: "final" is no condition; write exists, ~exists or forall`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	for _, tests := range families() {
		f.Add(tests[len(tests)-1].text())
	}
	f.Fuzz(func(t *testing.T, text string) {
		test, err := Parse(text)
		if err != nil {
			return
		}
		if r, err := Explore(test, Options{Unroll: 1, Most: 2000}); err == nil {
			_ = r.String()
		}
	})
}
