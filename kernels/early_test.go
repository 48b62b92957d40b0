package kernels

import (
	"regexp"
	"strings"
	"testing"

	"gpurun/kernels/ptx"
)

// touchesMemory finds instructions that may read or write what other kernels see; to prefetch
// does neither.
var touchesMemory = regexp.MustCompile(`(?m)^(@!?%p\d+ )?((ld|st|ldu|red|atom|multimem)\.(?:[a-z0-9_:]+\.)*global|cp\.|wgmma\.|fence\.(acq_rel|sc)).*$`)

// An entry point that may be launched before the kernel in front of it has ended waits for
// that before it touches memory.
func TestEntriesWaitForTheKernelInFront(t *testing.T) {
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
			before, _, waits := strings.Cut(entry, "griddepcontrol.wait;")
			if !waits {
				t.Errorf("%s: %s does not wait for the kernel in front of it", m.Name, name)
			} else if early := touchesMemory.FindString(before); early != "" {
				t.Errorf("%s: %s has %q before it waits for the kernel in front of it", m.Name, name, early)
			}
			entries++
		}
	}
	if entries < 100 {
		t.Errorf("there are only %d entry points to look at", entries)
	}
}
