package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/signals"
)

// dumped is a call of Dumps.Write.
type dumped struct {
	request DumpRequest
	workers []collect.Worker
}

// withDumps has a run record its dumps, each of which takes some time.
func withDumps(spec *Spec, takes time.Duration) *[]dumped {
	var all []dumped
	spec.Dumps = &Dumps{OnFailure: true, Write: func(ctx context.Context, r DumpRequest, workers []collect.Worker) {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		all = append(all, dumped{r, workers})
	}}
	return &all
}

const pythonOrFailure = `test $1 = 0 || exec /usr/bin/python3 -S -c 'import time; print("up", flush=True); time.sleep(60)'
	until test -e up; do sleep 0.01; done; exit 7`

// python is a spec of which worker 0 fails when worker 1, a Python program, is up.
func python(t *testing.T) (Spec, *recordedOutput) {
	t.Helper()
	spec, stdout, _ := shell(t, 2, pythonOrFailure)
	folder := t.TempDir()
	spec.Argv = append(spec.Argv, "sh", "${local_rank}")
	spec.Argv[2] = "cd " + folder + "\n" + spec.Argv[2]
	go func() {
		stdout.await(t, "up\n", 1)
		if err := os.WriteFile(filepath.Join(folder, "up"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	return spec, stdout
}

func TestAFailureIsDumpedBeforeTheEnd(t *testing.T) {
	t.Parallel()
	spec, _ := python(t)
	const takes = 300 * time.Millisecond
	dumps := withDumps(&spec, takes)
	announced := 0
	spec.Failed = func(f *Failure) {
		if announced++; f.ExitCode != 7 || len(*dumps) != 1 {
			t.Errorf("announced %v after %d dumps", f, len(*dumps))
		}
	}
	outcome, err := Run(t.Context(), spec)
	if err != nil || outcome.ExitCode() != 7 || len(outcome.Failures) != 1 || announced != 1 {
		t.Fatalf("%+v, %v; announced %d times", outcome, err, announced)
	}
	if after := outcome.Workers[1].Exited.Sub(outcome.First.Time); after < takes {
		t.Errorf("the other worker was ended %v after the failure, before the dump was over", after)
	}
	if len(*dumps) != 1 {
		t.Fatalf("%d dumps, want 1", len(*dumps))
	}
	d := (*dumps)[0]
	if !strings.Contains(d.request.Reason, "rank 0") || len(d.workers) != 2 || d.workers[0].Exit != "exited with code 7" ||
		d.workers[1].Exit != "" || d.workers[1].Output.IsZero() {
		t.Errorf("dumped %+v", d)
	}
}

// A signal does not wait for a dump, and a dump without end does not hold the run.
func TestASignalEndsADump(t *testing.T) {
	t.Parallel()
	spec, _ := python(t)
	withDumps(&spec, time.Hour)
	ctx, cancel := context.WithCancelCause(t.Context())
	write := spec.Dumps.Write
	var signaled time.Time
	spec.Dumps.Write = func(ctx context.Context, r DumpRequest, workers []collect.Worker) {
		signaled = time.Now()
		cancel(signals.Received{Signal: syscall.SIGTERM})
		write(ctx, r, workers)
	}
	outcome, err := Run(ctx, spec)
	if took := time.Since(signaled); err != nil || outcome == nil || took > DumpTimeout/2 {
		t.Errorf("%+v, %v; the end took %v", outcome, err, took)
	}
}

func TestFailuresWithoutADump(t *testing.T) {
	t.Parallel()
	shells, _, _ := shell(t, 2, `test $0 = 1 || exit 7; sleep 60`)
	shells.Argv = append(shells.Argv, "${local_rank}")
	turnedOff, _ := python(t)
	for name, spec := range map[string]*Spec{"no Python program": &shells, "turned off": &turnedOff} {
		dumps := withDumps(spec, 0)
		spec.Dumps.OnFailure = spec == &shells
		if outcome, err := Run(t.Context(), *spec); err != nil || outcome.ExitCode() != 7 || len(*dumps) > 0 {
			t.Errorf("%s: %+v, %v, %d dumps", name, outcome, err, len(*dumps))
		}
	}
}

// The agent's own processes are asked, the page is passed on, and nothing ends.
func TestRequestsForDumps(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := shell(t, 2, `trap 'echo caught' USR1; echo up; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done`)
	dumps := withDumps(&spec, 0)
	incoming, asked := make(chan os.Signal, 1), make(chan DumpRequest, 1)
	spec.Signals, spec.Dumps.Asked = incoming, asked
	go func() {
		stdout.await(t, "up\n", 2)
		asked <- DumpRequest{Reason: "somebody asks"}
		incoming <- syscall.SIGUSR1
	}()
	outcome, err := Run(t.Context(), spec)
	if err != nil || outcome.ExitCode() != 0 || len(*dumps) != 2 {
		t.Fatalf("%+v, %v; dumps: %+v", outcome, err, *dumps)
	}
	if got := strings.Count(stdout.String(), "caught"); got != 2 {
		t.Errorf("%d of 2 workers got SIGUSR1: %q", got, stdout.String())
	}
}

// Workers that would die of SIGUSR1 do not get it.
func TestSIGUSR1KillsNoWorker(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := shell(t, 1, `echo up; exec sleep 0.5`)
	withDumps(&spec, 0)
	incoming := make(chan os.Signal, 1)
	spec.Signals = incoming
	go func() {
		stdout.await(t, "up\n", 1)
		incoming <- syscall.SIGUSR1
	}()
	if outcome, err := Run(t.Context(), spec); err != nil || outcome.ExitCode() != 0 {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestSilenceIsAHang(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		hangs  bool
	}{
		"silent":       {`sleep 60`, true},
		"one writes":   {`test $0 = 1 || exec sleep 1.5; for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.2; done`, false},
		"a heartbeat":  {`for i in 1 2 3 4 5 6 7; do touch $1.beat; sleep 0.2; done`, false},
		"one has died": {`test $0 = 1 && exit 0; sleep 60`, true},

		// The clock of a file server need not be this machine's.
		"one heartbeat of the future": {`touch -d "next year" $1.beat; sleep 60`, true},
		"heartbeats of the past":      {`for i in 1 2 3 4 5 6 7; do touch -d "2001-01-0$i" $1.beat; sleep 0.2; done`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _, _ := shell(t, 2, test.script)
			folder := t.TempDir()
			spec.Argv = append(spec.Argv, "${local_rank}", folder+"/${local_rank}")
			dumps := withDumps(&spec, 0)
			spec.Dumps.Hang = time.Second
			spec.Dumps.Heartbeat = func(localRank int) string {
				return filepath.Join(folder, strconv.Itoa(localRank)+".beat")
			}
			outcome, err := Run(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if hangs := errors.As(outcome.Cause, new(*HangError)); hangs != test.hangs || len(*dumps) > 0 != hangs {
				t.Errorf("%+v; %d dumps", outcome, len(*dumps))
			}
		})
	}
}

// Several machines decide together: the agent says whether its workers are silent, and goes on.
func TestSilenceIsTold(t *testing.T) {
	t.Parallel()
	heard := filepath.Join(t.TempDir(), "heard")
	spec, _, _ := shell(t, 1, `until test -e `+heard+`; do sleep 0.05; done; echo again; sleep 60`)
	withDumps(&spec, 0)
	asked := make(chan DumpRequest, 1)
	var told []bool
	spec.Dumps.Hang, spec.Dumps.Asked = 300*time.Millisecond, asked
	spec.Dumps.Silent = func(silent bool) {
		switch told = append(told, silent); len(told) {
		case 1:
			if err := os.WriteFile(heard, nil, 0o600); err != nil {
				t.Error(err)
			}
		case 3:
			asked <- DumpRequest{Reason: "all are silent", Hang: true}
		}
	}
	outcome, err := Run(t.Context(), spec)
	if err != nil || !errors.As(outcome.Cause, new(*HangError)) || len(told) != 3 || !told[0] || told[1] || !told[2] {
		t.Errorf("%+v, %v; told %v", outcome, err, told)
	}
}

// SIGABRT has a Python program that nobody can ask write its stacks, when the grace is over.
func TestDeafPythonWritesItsStacksAtLast(t *testing.T) {
	t.Parallel()
	const deaf = `
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def deaf():
    while True: time.sleep(1)
print("up", flush=True)
deaf()`
	spec, _, stderr := shell(t, 2, "")
	spec.Grace = 200 * time.Millisecond
	spec.Argv = []string{
		"/bin/sh", "-c", `test $0 = 0 && sleep 0.7 && exit 7; exec /usr/bin/python3 -S -X faulthandler -c "$1"`,
		"${local_rank}", deaf,
	}
	withDumps(&spec, 0)
	outcome, err := Run(t.Context(), spec)
	if err != nil || outcome.ExitCode() != 7 || len(outcome.Failures) != 1 {
		t.Errorf("%+v, %v", outcome, err)
	}
	if text := stderr.String(); !strings.Contains(text, "in deaf") {
		t.Errorf("stderr: %q", text)
	}
}
