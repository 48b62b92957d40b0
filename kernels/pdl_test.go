package kernels

import (
	"regexp"
	"strings"
	"testing"

	"gpurun/kernels/ptx"
)

// Instructions that an entry point must not have before griddepcontrol.wait: accesses of memory that other kernels
// see, by their state space or by none, which means any; and branches and returns that may skip the wait.
var (
	access = regexp.MustCompile(`(?m)^\s*(@!?%p\d+\s+)?((ld|ldu|st|atom|red|multimem)\.\S+|` +
		`cp\.\S+|wgmma\.\S+|fence\.(acq_rel|sc)\S*|membar\S*).*$`)
	ownMemory = regexp.MustCompile(`\b(ld|st|atom|red)\.(\S+\.)?(param|shared|local|const)\b`)
	leaves    = regexp.MustCompile(`(?m)^\s*(@!?%p\d+\s+)?(ret|exit|call\S*|brx\S*)\b.*$`)
	branch    = regexp.MustCompile(`\bbra(?:\.uni)?\s+(\S+);`)
)

// prematureAccess is the first such instruction of an entry point, or empty.
func prematureAccess(entry string) string {
	before, _, waits := strings.Cut(entry, "\ngriddepcontrol.wait;")
	if !waits {
		return "no wait"
	}
	for _, line := range access.FindAllString(before, -1) {
		if !ownMemory.MatchString(line) {
			return line
		}
	}
	if line := leaves.FindString(before); line != "" {
		return line
	}
	for _, to := range branch.FindAllStringSubmatch(before, -1) {
		if !strings.Contains(before+"\n", "\n"+to[1]+":\n") {
			return to[0]
		}
	}
	return ""
}

// With programmatic dependent launch (PDL) a kernel may start before the previous one of its stream has ended. Every
// entry point waits for that one before it touches memory.
func TestEntriesWaitForThePreviousKernel(t *testing.T) {
	entries := 0
	for _, m := range Modules() {
		if !m.Arch.PDL() {
			continue
		}
		text, err := ptx.Source(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range strings.Split(string(text), ".visible .entry ")[1:] {
			name, _, _ := strings.Cut(entry, "(")
			if what := prematureAccess(entry); what != "" {
				t.Errorf("%s: %s has %q before it waits for the previous kernel of the stream", m.Name, name, what)
			}
			entries++
		}
	}
	if entries < 100 {
		t.Errorf("there are only %d entry points to look at", entries)
	}
}

func TestPrematureAccess(t *testing.T) {
	const wait = "\ngriddepcontrol.wait;\nld.global.b32 %r2,[%d1];\nret;\n"
	for before, want := range map[string]string{
		"ld.param.b64 %d1,[f_param_0];\nprefetch.global.L2 [%d1];\nst.shared.b32 [%r1],0;": "",
		"@%p1 bra $L0;\nprefetch.global.L2 [%d1];\n$L0:":                                   "",
		"x\nld.global.b32 %r1,[%d1];":                                                      "ld.global.b32 %r1,[%d1];",
		"x\n\t@%p1 st.v4.b32 [%d1],{0,0,0,0};":                                             "st.v4.b32 [%d1],{0,0,0,0};",
		"x\nld.relaxed.gpu.global.u32 %r1,[%d1];": "ld.relaxed.gpu.global.u32 " +
			"%r1,[%d1];",
		"x\nred.add.u32 [%d1],1;":                      "red.add.u32 [%d1],1;",
		"x\nfence.acq_rel.sys;":                        "fence.acq_rel.sys;",
		"x\n@%p1 ret;":                                 "ret;",
		"x\n@%p1 bra $L7;":                             "bra $L7;",
		"x\ncp.async.cg.shared.global [%r1],[%d1],16;": "cp.async.cg.shared.global [%r1],[%d1],16;",
	} {
		got := prematureAccess(before + wait)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: found %q, want %q", before, got, want)
		}
	}
	if got := prematureAccess("ld.param.b64 %d1,[f];\nret;\n"); got != "no wait" {
		t.Errorf("without a wait: %q", got)
	}
}
