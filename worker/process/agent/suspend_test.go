package agent

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpurun/worker/process/procfs"
)

// suspend starts a gpurun in a process group of its own, as a shell does, and stops it as by Ctrl-Z.
func suspend(t *testing.T, script string) *gpurun {
	t.Helper()
	g := startGpurun(t, 2, script, ownGroup)
	g.stdout.await(t, "ready", 2)
	if err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); g.stopped(t) < len(g.alive(t)); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > timeout {
			t.Fatalf("%d of the processes %v are stopped", g.stopped(t), g.alive(t))
		}
	}
	return g
}

// ownGroup gives a gpurun a process group of its own, as a shell does.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopped counts the processes that are stopped.
func (g *gpurun) stopped(t *testing.T) (n int) {
	for _, pid := range g.alive(t) {
		if isStopped(pid) {
			n++
		}
	}
	return n
}

// Ctrl-Z stops all processes, those in sessions of their own included, and fg continues them.
func TestCtrlZStopsTheJob(t *testing.T) {
	t.Parallel()
	g := suspend(t, `setsid sleep 0.3 & echo ready; wait; echo done`)
	time.Sleep(6 * time.Second) // longer than the guard lets an agent be stopped
	if got := g.stdout.String(); strings.Contains(got, "done") {
		t.Errorf("the workers went on: %q", got)
	}
	if err := g.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != 0 || strings.Count(g.stdout.String(), "done") != 2 || g.stderr.String() != "" {
		t.Errorf("exit code %d; stdout: %s; stderr: %s", code, g.stdout, g.stderr)
	}
	g.leavesNothing(t)
}

// A second Ctrl-Z that comes before the job is stopped does not stop it again after fg.
func TestCtrlZTwiceStopsTheJobOnce(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 1, `echo ready; sleep 1; echo done`, ownGroup)
	g.stdout.await(t, "ready", 1)
	for begun := time.Now(); !isStopped(g.cmd.Process.Pid); time.Sleep(100 * time.Microsecond) {
		if err := g.cmd.Process.Signal(syscall.SIGTSTP); err != nil || time.Since(begun) > timeout {
			t.Fatalf("gpurun is not stopped: %v", err)
		}
	}
	if err := g.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != 0 || !strings.Contains(g.stdout.String(), "done") {
		t.Errorf("exit code %d; stdout: %s; stderr: %s", code, g.stdout, g.stderr)
	}
}

// isStopped reports whether a process is stopped.
func isStopped(pid int) bool {
	p, err := procfs.Read(pid)
	return err == nil && p.Stopped
}

func TestAJobThatIsKilledWhileItIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("SIGKILL", func(t *testing.T) {
		t.Parallel()
		g := suspend(t, strings.Replace(hardToFind, "wait\n", "echo ready\nwait\n", 1))
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		g.leavesNothing(t)
		g.wait(t)
	})
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		// It does not fork while it is being stopped: one that waits in vfork for a stopped child is not shown as stopped.
		g := suspend(t, `trap 'echo saved; exit' TERM; sleep 60 & echo ready; wait`)
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
			if err := g.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		if code := g.wait(t); code != 143 || strings.Count(g.stdout.String(), "saved") != 2 {
			t.Errorf("exit code %d; stdout: %s; stderr: %s", code, g.stdout, g.stderr)
		}
		g.leavesNothing(t)
	})
}

// The time in which the agent was stopped is neither silence nor grace.
func TestStoppedTimeDoesNotCount(t *testing.T) {
	g := &group{spec: &Spec{}, workers: workers{{}}}
	begun := time.Now()
	g.workers[0].begin(begun)
	resumed := begun.Add(time.Hour)
	g.ending.begin(begun, syscall.SIGTERM, time.Minute, nil)
	g.awake(resumed, begun.Add(time.Second))
	if silent := g.workers.silent(time.Minute, resumed, g.resumed); len(silent) > 0 {
		t.Error("a worker counts as silent")
	}
	if at := resumed.Add(time.Minute); !g.workers.silentAt(time.Minute, at.Add(time.Hour), g.resumed).Equal(at) {
		t.Error("silence does not count from when the agent went on")
	}
	if g.ending.mustKill(resumed) || !g.ending.mustKill(resumed.Add(time.Minute)) {
		t.Errorf("the grace ends at %v", g.ending.killAt.Sub(begun))
	}
}

// The grace of an end that was asked for during the stop, and begins when the agent goes on, is not longer.
func TestTheGraceAfterAStopIsNotLonger(t *testing.T) {
	g := &group{spec: &Spec{}}
	due := time.Now()
	resumed := due.Add(time.Hour)
	g.ending.begin(resumed, syscall.SIGTERM, time.Minute, nil)
	g.awake(resumed, due)
	if !g.ending.mustKill(resumed.Add(time.Minute)) {
		t.Errorf("the grace ends %v after the stop", g.ending.killAt.Sub(resumed))
	}
}
