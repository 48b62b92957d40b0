package kernels

import (
	"regexp"
	"strings"
	"testing"

	"gpurun/kernels/ptx"
)

// Instructions that an entry point must not have before griddepcontrol.wait: accesses of memory that other kernels
// see, by their state space or by none, which means any; and returns.
var (
	access = regexp.MustCompile(`(?m)^\s*(@!?%p\d+\s+)?((ld|ldu|st|atom|red|multimem)\.\S+|` +
		`cp\.\S+|wgmma\.\S+|fence\.(acq_rel|sc)\S*|membar\S*).*$`)
	ownMemory = regexp.MustCompile(`\b(ld|st|atom|red)\.(\S+\.)?(param|shared|local|const)\b`)
	leaves    = regexp.MustCompile(`(?m)^\s*(@!?%p\d+\s+)?(ret|exit|call\S*|brx\S*)\b.*$`)
	branch    = regexp.MustCompile(`\bbra(?:\.uni)?\s+(\S+);`)
)

// prematureAccess is such an instruction on a path from an entry point to griddepcontrol.wait, or empty. Roles of warps
// may wait each for themselves.
func prematureAccess(entry string) string {
	const wait = "griddepcontrol.wait;"
	if !strings.Contains(entry, "\n"+wait) {
		return "no wait"
	}
	lines, labels := strings.Split(entry, "\n"), map[string]int{}
	for i, line := range lines {
		labels[strings.TrimSuffix(line, ":")] = i
	}
	seen := make([]bool, len(lines))
	for todo := []int{0}; len(todo) > 0; {
		i := todo[0]
		for todo = todo[1:]; i < len(lines) && !seen[i] && strings.TrimSpace(lines[i]) != wait; i++ {
			line := lines[i]
			seen[i] = true
			if access.MatchString(line) && !ownMemory.MatchString(line) || leaves.MatchString(line) {
				return line
			}
			to := branch.FindStringSubmatch(line)
			if to == nil {
				continue
			}
			at, ok := labels[to[1]]
			if !ok {
				return line
			}
			todo = append(todo, at)
			if !strings.HasPrefix(strings.TrimSpace(line), "@") {
				break
			}
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
		"ld.param.b64 %d1,[f_param_0];\nprefetch.global.L2 [%d1];\nst.shared.b32 [%r1],0;":  "",
		"@%p1 bra $L0;\nprefetch.global.L2 [%d1];\n$L0:":                                    "",
		"x\n@%p1 bra $L0;\ngriddepcontrol.wait;\nst.b32 [%d1],1;\nret;\n$L0:":               "", // a role of its own
		"x\n@%p1 bra $L0;\ngriddepcontrol.wait;\nbra.uni $L1;\n$L0:\nst.b32 [%d1],1;\n$L1:": "st.b32 [%d1],1;",
		"x\nbra.uni $L0;\n$L1:\nst.b32 [%d1],2;\n$L0:\n@%p1 bra $L1;":                       "st.b32 [%d1],2;",
		"x\nld.global.b32 %r1,[%d1];":                                                       "ld.global.b32 %r1,[%d1];",
		"x\n\t@%p1 st.v4.b32 [%d1],{0,0,0,0};":                                              "st.v4.b32 [%d1],{0,0,0,0};",
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
