package crash

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// Beginnings of what the Go runtime prints when it ends a process.
func TestCrashesAreExplained(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, test := range []struct{ text, want string }{
		{"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n", "no more threads"},
		{"runtime: failed to create new OS thread (have 5 already; errno=11)\n", "no more threads"},
		{"runtime: epollcreate failed with 24\nfatal error: runtime: netpollinit failed\n", "no more files"},
		{"fatal error: runtime: out of memory\n", "memory ran out"},
		{"SIGSEGV: segmentation violation\nPC=0x4\n", "it received SIGSEGV: segmentation violation, which"},
		{"SIGABRT: abort\nPC=0x4 m=2 sigcode=18446744073709551610\n", "it aborted itself, as it does when no more threads"},
		{"SIGABRT: abort\nPC=0x4 m=2 sigcode=0\n", "it received SIGABRT: abort, which another process"},
		{"SIGQUIT: quit\nPC=0x4\n", "it received SIGQUIT"},
		{"panic: on purpose\n\ngoroutine 1 [running]:\n", "panic: on purpose; this is a defect of gpurun"},
	} {
		var f Filter
		if !f.Pass([]byte("a library's warning: runtime: slow\n")) {
			t.Errorf("%q: a line before the crash does not pass", test.text)
		}
		for line := range strings.Lines(test.text + "goroutine 7 [running]:\nanything\n") {
			if f.Pass([]byte(line)) {
				t.Errorf("%q passes", line)
			}
		}
		var crashed *Error
		if err := f.Crash("the agent (pid 7)"); !errors.As(err, &crashed) ||
			!strings.HasPrefix(err.Error(), "the agent (pid 7) crashed: "+test.want) {
			t.Fatalf("%q: %v", test.text, err)
		}
		if stacks, err := os.ReadFile(crashed.File); err != nil || !strings.HasPrefix(string(stacks), test.text) {
			t.Errorf("the file has %q, %v", stacks, err)
		}
	}
	if err := new(Filter).Crash("the agent"); err != nil {
		t.Errorf("no crash: %v", err)
	}
}

func TestLimitsAreNamed(t *testing.T) {
	if text := Limits(); !strings.Contains(text, "ulimit -n is ") || !strings.HasSuffix(text, "or start fewer ranks") {
		t.Error(text)
	}
}
