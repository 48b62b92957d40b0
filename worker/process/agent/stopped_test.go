package agent

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// stopAgent stops the agent of a running gpurun.
func stopAgent(t *testing.T, g *gpurun) {
	t.Helper()
	if err := syscall.Kill(agentOf(t, g), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// A stopped agent is continued by the first signal, and its workers have their grace.
func TestAnAgentThatIsStoppedEndsOnASignal(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			g := startGpurun(t, 1, `trap 'echo saved; exit 3' TERM INT; echo ready; while :; do sleep 0.01; done`)
			g.stdout.await(t, "ready", 1)
			stopAgent(t, g)
			if err := g.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if code, want := g.wait(t), 128+int(s); code != want {
				t.Errorf("exit code %d, want %d; stderr: %s", code, want, g.stderr)
			}
			if got := g.stdout.String(); got != "ready\nsaved\n" {
				t.Errorf("stdout: %q", got)
			}
			g.leavesNothing(t)
		})
	}
}

// Nobody asks for the end, and the guard still ends the job of an agent that stays stopped.
func TestAnAgentThatStaysStoppedIsEnded(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 2, hardToFind)
	g.stdout.await(t, "daemon ", 2)
	stopAgent(t, g)
	g.wait(t)
	if text := g.stderr.String(); strings.Count(text, "was stopped for 4s") != 1 {
		t.Errorf("stderr: %s", text)
	}
	g.leavesNothing(t)
}

func TestAnAgentThatDoesNotAnswerIsKilled(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *gpurun {
		g := startGpurun(t, 1, "echo ready; exec sleep 1000",
			func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, faultVariable+"="+deaf) })
		g.stdout.await(t, "ready", 1)
		return g
	}
	send := func(t *testing.T, g *gpurun, signal syscall.Signal) {
		if err := g.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("after a signal", func(t *testing.T) {
		t.Parallel()
		g := start(t)
		send(t, g, syscall.SIGTERM)
		if code := g.wait(t); code != 143 {
			t.Errorf("exit code %d", code)
		}
		if text := g.stderr.String(); !strings.Contains(text, "did not answer SIGTERM for 5s") {
			t.Errorf("stderr: %s", text)
		}
		g.leavesNothing(t)
	})
	t.Run("by the third signal", func(t *testing.T) {
		t.Parallel()
		g := start(t)
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			send(t, g, s)
		}
		// The kernel may deliver them in another order.
		if code := g.wait(t); code != 143 && code != 130 && code != 129 {
			t.Errorf("exit code %d", code)
		}
		if text := g.stderr.String(); strings.Contains(text, "SIGKILL") || !strings.Contains(text, "ended by SIG") {
			t.Errorf("stderr: %s", text)
		}
		g.leavesNothing(t)
	})
}
