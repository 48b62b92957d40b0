package agent

import (
	"strings"
	"syscall"
	"testing"
)

// A guard that gets a deadly signal from outside ends the job, and says why, without stacks.
func TestAGuardWithADeadlySignalEndsTheJob(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGABRT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			g := startGpurun(t, 2, hardToFind)
			g.stdout.await(t, "daemon ", 2)
			if err := g.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			g.wait(t)
			if text := g.stderr.String(); !strings.Contains(text, "the guard (pid ") || strings.Contains(text, "goroutine") {
				t.Errorf("stderr: %s", text)
			}
			g.leavesNothing(t)
		})
	}
}
