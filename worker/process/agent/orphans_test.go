package agent

import (
	"syscall"
	"testing"
)

// What a guard and an agent leave that are killed in the same instant, the next gpurun of the user ends.
func TestTheNextGpurunEndsOrphans(t *testing.T) {
	g := startGpurun(t, 2, hardToFind)
	g.stdout.await(t, "daemon ", 2)
	agent, guard := agentOf(t, g), g.cmd.Process.Pid
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // stopped, neither sees the other's death
		for _, pid := range []int{agent, guard} {
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.wait(t)
	t.Logf("%d orphans", len(g.alive(t)))
	next := startGpurun(t, 1, "exit 0")
	if code := next.wait(t); code != 0 {
		t.Errorf("exit code %d; stderr: %s", code, next.stderr)
	}
	g.leavesNothing(t)
}

// A job that runs is none of the next gpurun's business.
func TestTheNextGpurunLeavesOtherJobsAlone(t *testing.T) {
	g := startGpurun(t, 1, "trap 'exit 3' USR1; sleep 1000 & echo ready; while :; do sleep 0.01; done")
	g.stdout.await(t, "ready", 1)
	if code := startGpurun(t, 1, "exit 0").wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := g.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != 3 {
		t.Errorf("exit code %d; stderr: %s", code, g.stderr)
	}
}
