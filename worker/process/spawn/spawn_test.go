package spawn

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// start starts a shell command that dies with the thread.
func start(t *testing.T, thread *Thread, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := thread.Start(t.Context(), cmd, nil); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestWait(t *testing.T) {
	thread := NewThread()
	defer thread.Close()
	for script, want := range map[string]ExitStatus{
		"exit 0": {}, "exit 7": {Code: 7}, "kill -TERM $$": {Signal: syscall.SIGTERM},
	} {
		cmd := start(t, thread, script)
		got, err := Wait(cmd.Process.Pid)
		if err != nil || got != want || got.Success() != (want == ExitStatus{}) {
			t.Errorf("%s: %+v, %v", script, got, err)
		}
		if err := unix.Kill(cmd.Process.Pid, 0); err != nil {
			t.Errorf("%s: the process was reaped: %v", script, err)
		}
		_ = cmd.Wait()
	}
	if _, err := Wait(1); err == nil {
		t.Error("process 1 is no child")
	}
}

// Processes die with the thread that started them, which is never the main thread.
func TestClose(t *testing.T) {
	t.Run("any thread", func(t *testing.T) { checkClose(t, NewThread()) })
	t.Run("asked of the main thread", func(t *testing.T) {
		thread := newThread()
		onMainThread <- thread.leaveMainThread
		checkClose(t, thread)
	})
}

func checkClose(t *testing.T, thread *Thread) {
	t.Helper()
	cmd := start(t, thread, "exec sleep 1000")
	thread.Close()
	if got, err := Wait(cmd.Process.Pid); err != nil || got.Signal != syscall.SIGKILL {
		t.Errorf("%+v, %v", got, err)
	}
	_ = cmd.Wait()
}
