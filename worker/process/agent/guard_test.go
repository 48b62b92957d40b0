package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/guard"
	"gpurun/worker/process/processtest"
	"gpurun/worker/process/report"
)

// markVariable marks every process of one test, whatever becomes of it.
const markVariable = "GPURUN_TEST_MARK"

// A gpurun is guard, agent and workers, as processes of their own.
type gpurun struct {
	cmd            *exec.Cmd
	stdout, stderr *recordedOutput
	mark           string
	tmp            string
}

// startGpurun starts it with workers that run a shell script.
func startGpurun(t *testing.T, workers int, script string, prepare ...func(*exec.Cmd)) *gpurun {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &gpurun{stdout: newRecordedOutput(), stderr: newRecordedOutput(), tmp: t.TempDir()}
	g.mark = fmt.Sprintf("%s=%d-%s", markVariable, os.Getpid(), filepath.Base(filepath.Dir(g.tmp))+t.Name())
	g.cmd = exec.Command(self, "/bin/sh", "-c", script)
	g.cmd.Env = append(os.Environ(), roleVariable+"=gpurun", workersVariable+"="+strconv.Itoa(workers), "TMPDIR="+g.tmp,
		g.mark)
	g.cmd.Stdout, g.cmd.Stderr = g.stdout, g.stderr
	g.cmd.WaitDelay = timeout
	for _, p := range prepare {
		p(g.cmd)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range g.alive(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return g
}

// alive lists the marked processes.
func (g *gpurun) alive(t *testing.T) []int {
	t.Helper()
	pids, err := processtest.Marked(g.mark)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// wait returns the exit code, 128+n on signal n.
func (g *gpurun) wait(t *testing.T) int {
	t.Helper()
	bound := time.AfterFunc(timeout, func() {
		t.Errorf("gpurun has not ended after %v", timeout)
		_ = g.cmd.Process.Kill()
	})
	defer bound.Stop()
	var exit *exec.ExitError
	if err := g.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// leavesNothing fails the test if a process or a file is left after 2 seconds.
func (g *gpurun) leavesNothing(t *testing.T) {
	t.Helper()
	const promise = 2 * time.Second
	start := time.Now()
	for len(g.alive(t)) > 0 {
		if time.Since(start) > promise {
			for _, pid := range g.alive(t) {
				command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				t.Errorf("pid %d is left: %s", pid, bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
			}
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("all gone after %v", time.Since(start))
	if left, err := filepath.Glob(g.tmp + "/*"); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// pids finds the numbers that lines "NAME NUMBER" of standard output give.
func (g *gpurun) pids(t *testing.T, name string) []int {
	t.Helper()
	var pids []int
	for line := range strings.Lines(g.stdout.String()) {
		if number, ok := strings.CutPrefix(line, name+" "); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// hardToFind is a worker with children that are hard to find: in another session,
// orphaned by a double fork, ignoring SIGTERM, all of that at once, and stopped.
const hardToFind = `
	sleep 1000 &
	echo child $!
	setsid sleep 1000 &
	(setsid sh -c 'trap "" TERM HUP INT; echo daemon $$; sleep 1000 & while :; do wait; sleep 1; done' &)
	(sh -c 'trap "" TERM; sleep 1000' &)
	(setsid sh -c 'kill -STOP $$; sleep 1000' &)
	echo worker $$
	wait
`

func TestNothingIsLeftAfterKill(t *testing.T) {
	tests := map[string]struct {
		victim func(*testing.T, *gpurun) int
		code   int    // of gpurun
		stderr string // contains
	}{
		"guard": {func(_ *testing.T, g *gpurun) int { return g.cmd.Process.Pid }, 137, ""},
		"agent": {
			func(t *testing.T, g *gpurun) int { return agentOf(t, g) }, 137, "was killed by SIGKILL; its workers were ended",
		},
		"worker": {
			func(t *testing.T, g *gpurun) int { return g.pids(t, "worker")[0] }, 137, "was killed by SIGKILL",
		},
		"worker's daemon": {func(t *testing.T, g *gpurun) int { return g.pids(t, "daemon")[0] }, 143, ""},
		"worker's child":  {func(t *testing.T, g *gpurun) int { return g.pids(t, "child")[0] }, 143, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGpurun(t, 2, hardToFind)
			g.stdout.await(t, "worker ", 2)
			g.stdout.await(t, "daemon ", 2)
			victim := test.victim(t, g)
			start := time.Now()
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if test.code == 143 {
				// The worker itself lives on; end it all.
				if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			if code := g.wait(t); code != test.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, test.code, g.stderr)
			}
			g.leavesNothing(t)
			if took := time.Since(start); name == "guard" && took >= guard.AgentTimeout {
				t.Errorf("an agent that is not stuck took %v", took)
			}
			if !strings.Contains(g.stderr.String(), test.stderr) {
				t.Errorf("stderr: %q", g.stderr)
			}
		})
	}
}

func TestAnAgentThatIgnoresTheGuardsDeathIsKilled(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 2, hardToFind, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, faultVariable+"="+ignoresGuard) })
	g.stdout.await(t, "worker ", 2)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.wait(t)
	g.leavesNothing(t)
}

func TestWorkersDieWithAnAgentWithoutGuard(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 2, "echo ready; exec sleep 1000",
		func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, faultVariable+"="+unguarded) })
	g.stdout.await(t, "ready", 2)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.wait(t)
	g.leavesNothing(t)
}

// agentOf finds the guard's only child.
func agentOf(t *testing.T, g *gpurun) int {
	t.Helper()
	agent, err := processtest.Child(g.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestNothingIsLeftAfterTheWorkersEnd(t *testing.T) {
	tests := map[string]struct {
		last string
		code int
	}{
		"well":  {"exit 0", 0},
		"badly": {"[ $RANK = 1 ] || sleep 1000; exit 5", 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGpurun(t, 2, strings.Replace(hardToFind, "wait\n", "", 1)+test.last)
			if code := g.wait(t); code != test.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, test.code, g.stderr)
			}
			if left := g.alive(t); len(left) > 0 {
				t.Errorf("gpurun has ended, and %v live on", left)
			}
			g.leavesNothing(t)
		})
	}
}

func TestGuardPassesSignalsOn(t *testing.T) {
	tests := map[string]struct {
		script string
		send   []syscall.Signal
		stdout string
		code   int
	}{
		"once": {
			`trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.01; done`,
			[]syscall.Signal{syscall.SIGTERM},
			"got it\n", 143,
		},
		"SIGQUIT": {
			`trap 'echo quit; exit 3' QUIT; echo ready; while :; do sleep 0.01; done`,
			[]syscall.Signal{syscall.SIGQUIT},
			"quit\n", 131,
		},
		"SIGUSR1": {
			`trap 'echo saved; exit 0' USR1; echo ready; while :; do sleep 0.01; done`,
			[]syscall.Signal{syscall.SIGUSR1},
			"saved\n", 0,
		},
		"SIGUSR1 to the worker only": {
			`sleep 1000 & trap "kill -9 $!; wait $!; echo child \$?; exit 0" USR1; echo ready; while :; do sleep 0.01; done`,
			[]syscall.Signal{syscall.SIGUSR1},
			"child 137\n", 0,
		},
		"twice": {
			`trap '' TERM; echo ready; while :; do sleep 0.01; done`,
			[]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM},
			"",
			143,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGpurun(t, 1, test.script)
			g.stdout.await(t, "ready\n", 1)
			for _, s := range test.send {
				if err := g.cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if code := g.wait(t); code != test.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, test.code, g.stderr)
			}
			if diff := cmp.Diff("ready\n"+test.stdout, g.stdout.String()); diff != "" {
				t.Error(diff)
			}
			g.leavesNothing(t)
		})
	}
}

func TestUnderNohupNobodyHearsOfSIGHUP(t *testing.T) {
	t.Parallel()
	script := `trap 'echo hangup' HUP; trap 'echo saved' USR1; echo ready; while :; do sleep 0.01; done`
	g := startGpurun(t, 1, script, func(cmd *exec.Cmd) {
		cmd.Args = slices.Concat([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:])
		cmd.Path = "/bin/sh"
	})
	g.stdout.await(t, "ready\n", 1)
	for _, step := range []struct {
		signal syscall.Signal
		then   string // of standard output
	}{{syscall.SIGHUP, ""}, {syscall.SIGUSR1, "saved\n"}, {syscall.SIGTERM, ""}} {
		if err := g.cmd.Process.Signal(step.signal); err != nil {
			t.Fatal(err)
		}
		if step.then != "" {
			g.stdout.await(t, step.then, 1)
		}
	}
	if code := g.wait(t); code != 143 {
		t.Errorf("exit code %d; stderr: %s", code, g.stderr)
	}
	if diff := cmp.Diff("ready\nsaved\n", g.stdout.String()); diff != "" {
		t.Error(diff)
	}
	g.leavesNothing(t)
}

func TestASignalFromTheTerminalArrivesOnce(t *testing.T) {
	t.Parallel()
	// A terminal signals the whole foreground process group.
	const script = `trap 'echo got it; sleep 0.2; echo bye; exit 3' QUIT; echo ready; while :; do sleep 0.01; done`
	g := startGpurun(t, 1, script, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	})
	g.stdout.await(t, "ready\n", 1)
	if err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if code := g.wait(t); code != 131 {
		t.Errorf("exit code %d; stderr: %s", code, g.stderr)
	}
	if diff := cmp.Diff("ready\ngot it\nbye\n", g.stdout.String()); diff != "" {
		t.Error(diff)
	}
	g.leavesNothing(t)
}

func TestASignalDuringStart(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond} {
		g := startGpurun(t, 2, "exec sleep 1000")
		time.Sleep(delay) // any moment must do
		if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := g.wait(t); code != 143 {
			t.Errorf("after %v: exit code %d; stderr: %s", delay, code, g.stderr)
		}
		g.leavesNothing(t)
	}
}

func TestAnAgentThatIsStoppedEndsWithItsGuard(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 2, hardToFind)
	g.stdout.await(t, "daemon ", 2)
	agent := agentOf(t, g)
	if err := syscall.Kill(agent, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.leavesNothing(t)
	g.wait(t)
}

func TestWorkersInheritOnlyWhatIsMeantForThem(t *testing.T) {
	t.Parallel()
	stray, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	// ls itself opens the fourth.
	g := startGpurun(t, 2, `ls /proc/self/fd | wc -l; env | grep -c -e LIFELINE -e REPORT; readlink /proc/self/fd/0`,
		func(cmd *exec.Cmd) {
			cmd.ExtraFiles = []*os.File{stray, stray, stray, stray}
			cmd.Env = append(cmd.Env, report.FDVariable+"=5")
		})
	if code := g.wait(t); code != 0 {
		t.Errorf("exit code %d; stderr: %s", code, g.stderr)
	}
	for text, n := range map[string]int{"4\n": 2, "0\n": 2, "/dev/null\n": 2} {
		if strings.Count(g.stdout.String(), text) != n {
			t.Errorf("%d times %q in %q", n, text, g.stdout)
		}
	}
	g.leavesNothing(t)
}

func BenchmarkFourTimesTrue(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.Command(self, "/bin/true")
		cmd.Env = append(os.Environ(), roleVariable+"=gpurun", workersVariable+"=4")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// Orphans that have ended are reaped while the run goes on.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	script := `
		i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done
		for try in 1 2 3 4 5 6 7 8 9 10; do
			sleep 0.1
			left=$(grep -l "^PPid:[[:space:]]*$PPID$" /proc/[0-9]*/status 2>/dev/null | wc -l)
			test $left = 1 && echo all are gone && exit
		done
		echo $left processes are left`
	g := startGpurun(t, 1, script)
	g.wait(t)
	if got := g.stdout.String(); !strings.Contains(got, "all are gone") {
		t.Errorf("got %q", got)
	}
}

// In a PID namespace with the /proc of another, process IDs belong to other processes.
func TestProcOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	newNamespace := func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID} }
	probe := exec.Command("/bin/true")
	newNamespace(probe)
	if err := probe.Run(); err != nil {
		t.Skipf("there are no PID namespaces to test in: %v", err)
	}
	g := startGpurun(t, 1, "echo hello", newNamespace)
	g.wait(t)
	if got := g.stderr.String(); !strings.Contains(got, "/proc belongs to another PID namespace") {
		t.Errorf("got %q", got)
	}
	if got := g.stdout.String(); got != "" {
		t.Errorf("got %q", got)
	}
}
