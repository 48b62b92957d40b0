package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"testing"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/argv"
	"gpurun/worker/process/launcher"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{&Error{Code: 143}, 143, ""},
		{&Error{Code: 5, Err: errors.New("more")}, 5, "more"},
		{fmt.Errorf("around: %w", Usagef("bad")), 2, "around: bad"},
		{&UsageError{errors.New("bad"), "read this"}, 2, "bad\nread this"},
		{&EnvironmentError{errors.New("no GPU")}, 3, "no GPU"},
		{&launcher.UnfitError{Err: errors.New("no GPU")}, 220, "this machine is not fit for the job: no GPU"},
		{&argv.NotFound{Name: "x", Err: exec.ErrNotFound}, 127, `cannot run "x": executable file not found in $PATH`},
		{&argv.NotFound{Name: "x", Err: fs.ErrPermission}, 126, `cannot run "x": permission denied`},
		{&argv.NotFound{Name: "/", Err: syscall.EISDIR}, 126, `cannot run "/": is a directory`},
		{errors.New("out of descriptors"), 3, "out of descriptors"},
	} {
		if code, text := Code(c.err), Describe(c.err); code != c.code || text != c.text {
			t.Errorf("%v: %d %q, want %d %q", c.err, code, text, c.code, c.text)
		}
	}
}

func TestCollectiveCode(t *testing.T) {
	reported := func(class report.Class) *agent.Outcome {
		return &agent.Outcome{First: &agent.Failure{ExitCode: 1, Report: &report.Failure{Class: class}}}
	}
	for name, c := range map[string]struct {
		outcome *agent.Outcome
		code    int
	}{
		"success":     {&agent.Outcome{}, 0},
		"wrong data":  {reported(report.WrongData), 1},
		"usage":       {reported(report.Usage), 2},
		"environment": {reported(report.Environment), 3},
		"timeout":     {reported(report.Timeout), 4},
		"rendezvous":  {reported(report.Rendezvous), 6},
		"internal":    {reported(report.Internal), 5},
		"killed":      {&agent.Outcome{First: &agent.Failure{Signal: syscall.SIGKILL}}, 5},
		"panic":       {&agent.Outcome{First: &agent.Failure{ExitCode: 2}}, 5},
		"disk full":   {&agent.Outcome{Cause: errors.New("no space left")}, 3},
		"signal":      {&agent.Outcome{Signal: syscall.SIGTERM, Cause: signals.Received{Signal: syscall.SIGTERM}}, 143},
	} {
		if code := CodeOfWorkers(c.outcome); code != c.code {
			t.Errorf("%s: %d, want %d", name, code, c.code)
		}
	}
}

func TestWorse(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{
		{OK, Threshold, Threshold},
		{Threshold, OK, Threshold},
		{Threshold, Environment, Environment},
		{WorkerDied, Environment, WorkerDied},
		{Timeout, WrongData, WrongData},
		{WrongData, Threshold, WrongData},
		{WrongData, WorkerDied, WrongData},
		{WrongData, Signaled + 2, Signaled + 2},
	} {
		if got := Worse(c.a, c.b); got != c.want {
			t.Errorf("of %d and %d: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
