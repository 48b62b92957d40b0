package healthcheck

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gpurun/worker/process/processtest"
	"gpurun/worker/process/signals"
)

func TestMain(m *testing.M) {
	processtest.ManyAtOnce()
	goleak.VerifyTestMain(m)
}

// shell is a check by a shell command.
func shell(text string) Check {
	return Check{
		Name: "check", Path: "/bin/sh", Argv: []string{"sh", "-c", text}, Env: os.Environ(), Timeout: 10 * time.Second,
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	slow := shell("echo begun; exec sleep 60")
	slow.Timeout = 200 * time.Millisecond
	missing := shell("")
	missing.Path = "/nonexistent"
	for name, c := range map[string]struct {
		check          Check
		reason, output string
	}{
		"code":    {shell("echo no link >&2; exit 3"), "exited with code 3", "no link\n"},
		"signal":  {shell("kill -9 $$"), "was killed by SIGKILL", ""},
		"late":    {slow, "did not end within 200ms", "begun\n"},
		"missing": {missing, "cannot run: fork/exec /nonexistent: no such file or directory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := new(Failure)
			if err := c.check.Run(t.Context()); !errors.As(err, &failure) {
				t.Fatal(err)
			}
			if failure.Reason != c.reason || string(failure.Output) != c.output {
				t.Errorf("%q with output %q, want %q with %q", failure.Reason, failure.Output, c.reason, c.output)
			}
		})
	}
	if err := shell("exit 0").Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfTheRunIsNoFailureOfTheMachine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(signals.Received{Signal: unix.SIGTERM}) })
	err := shell("exec sleep 60").Run(ctx)
	if got := (signals.Received{}); !errors.As(err, &got) || errors.As(err, new(*Failure)) {
		t.Errorf("got %v", err)
	}
}

// A check may leave processes in its group, and may ignore SIGTERM.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"fit": "sleep 60 & echo $! >%; exit 0", "unfit": "sleep 60 & echo $! >%; exit 1",
		"stubborn": "trap '' TERM; sleep 60 & echo $! >%; while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			check := shell(strings.ReplaceAll(text, "%", file))
			check.Timeout = 500 * time.Millisecond
			began := time.Now()
			_ = check.Run(t.Context())
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("took %v", took)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comm := filepath.Join("/proc", strings.TrimSpace(string(data)), "stat")
			for range 100 {
				stat, err := os.ReadFile(comm)
				if err != nil || bytes.Contains(stat, []byte(") Z ")) {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Error("its child is still there")
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	failure := new(Failure)
	if err := shell("seq 20000; exit 1").Run(t.Context()); !errors.As(err, &failure) {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	failure.Show(&shown)
	lines := strings.Split(shown.String(), "\n")
	if len(failure.Output) > maxOutput || !strings.HasPrefix(lines[1], "  1") || lines[len(lines)-2] != "  20000" {
		t.Errorf("%d bytes, first line %q, last %q", len(failure.Output), lines[1], lines[len(lines)-2])
	}
}

// A context that has ended before the check starts is no failure of the machine.
func TestEndedBeforeTheStart(t *testing.T) {
	cause := errors.New("a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	check := Check{Name: "check", Path: "/bin/true", Argv: []string{"true"}, Timeout: time.Minute}
	if err := check.Run(ctx); !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
}
