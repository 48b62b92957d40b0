package collect

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/pyhook"
)

// prepared is a collector whose workers can be asked for their stacks.
func prepared(t *testing.T) (*Collector, string) {
	t.Helper()
	folder := t.TempDir()
	if err := pyhook.Install(filepath.Join(folder, "python")); err != nil {
		t.Fatal(err)
	}
	return &Collector{Host: "here", Stacks: func(localRank int) string {
		return filepath.Join(folder, fmt.Sprintf("%d.stacks", localRank))
	}}, filepath.Join(folder, "python")
}

// begin starts a worker that says when it is ready by a line of output.
func begin(t *testing.T, c *Collector, hook string, localRank int, argv ...string) Worker {
	t.Helper()
	if err := os.WriteFile(c.Stacks(localRank), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), pyhook.Environment(hook, c.Stacks(localRank), os.LookupEnv)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return Worker{Rank: localRank, LocalRank: localRank, PID: cmd.Process.Pid}
}

// collectAll collects within the bound of a dump.
func collectAll(t *testing.T, c *Collector, workers ...Worker) []dump.Rank {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	return c.Ranks(ctx, workers)
}

// functions are those of a thread's Python stack.
func functions(thread dump.Thread) (names []string) {
	for _, f := range thread.Python {
		names = append(names, f.Function)
	}
	return names
}

const sleeper = `
import time, sys
def inner():
    print("ready", flush=True)
    time.sleep(60)
def outer(): inner()
outer()`

func TestPythonStacks(t *testing.T) {
	t.Parallel()
	const holdsLock = `
import re
def holder():
    match = re.compile("(a+)+$").match
    print("ready", flush=True)
    match(40 * "a" + "b") # takes hours, in C, with the interpreter's lock
def outer(): holder()
outer()`
	for name, test := range map[string]struct {
		argv []string
		want []string // functions, innermost first
	}{
		"sleeps":         {[]string{"/usr/bin/python3", "-c", sleeper}, []string{"inner", "outer", "<module>"}},
		"holds the lock": {[]string{"/usr/bin/python3", "-c", holdsLock}, []string{"holder", "outer", "<module>"}},
		"behind a shell": {
			[]string{"/bin/sh", "-c", `/usr/bin/python3 -c "$0"; :`, sleeper},
			[]string{"inner", "outer", "<module>"},
		},
		"replaces a shell": {
			[]string{"/bin/sh", "-c", `exec /usr/bin/python3 -c "$0"`, sleeper},
			[]string{"inner", "outer", "<module>"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, hook := prepared(t)
			rank := collectAll(t, c, begin(t, c, hook, 0, test.argv...))[0]
			if len(rank.Processes) == 0 {
				t.Fatalf("no process: %+v", rank)
			}
			last := rank.Processes[len(rank.Processes)-1]
			if got := functions(last.Threads[0]); !slices.Equal(got, test.want) {
				t.Errorf("stack %q, want %q; missing: %q", got, test.want, rank.Missing)
			}
			if syscall.Kill(rank.PID, 0) != nil || last.Threads[0].State == "" || last.Threads[0].TID != last.PID {
				t.Errorf("the process: %+v", last)
			}
		})
	}
}

// A process that has not registered the signal gets none, and a sentence says why there are no stacks.
func TestPythonThatIsNotPrepared(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-S", "-I", "-E"} {
		c, hook := prepared(t)
		rank := collectAll(t, c, begin(t, c, hook, 0, "/usr/bin/python3", flag, "-c", sleeper))[0]
		if text := strings.Join(rank.Missing, "\n"); !strings.Contains(text, "(-S, -I, -E") || len(rank.Processes) != 1 {
			t.Errorf("%s: missing %q, processes %+v", flag, text, rank.Processes)
		}
		if main := rank.Processes[0].Threads[0]; len(main.Python) > 0 || main.State == "" {
			t.Errorf("%s: %+v", flag, main)
		}
	}
}

// A handler for SIGURG of the program's own stays the program's.
func TestProgramsWithAHandlerOfTheirOwn(t *testing.T) {
	t.Parallel()
	c, hook := prepared(t)
	const own = `
import os, signal, time
os.closerange(3, 100)
signal.signal(signal.SIGURG, lambda *_: os._exit(1))
print("ready", flush=True)
time.sleep(60)`
	w := begin(t, c, hook, 0, "/usr/bin/python3", "-c", own)
	rank := collectAll(t, c, w)[0]
	if len(rank.Processes) != 1 || len(rank.Missing) == 0 {
		t.Errorf("the program has ended, or nothing is missing: %+v", rank)
	}
}

// Forked children share the file of their worker, and have their own stacks.
func TestForkedChildren(t *testing.T) {
	t.Parallel()
	c, hook := prepared(t)
	const forks = `
import os, time, threading
def child(n):
    time.sleep(60)
def loader(): time.sleep(60)
threading.Thread(target=loader, daemon=True).start()
for n in range(3):
    if os.fork() == 0: child(n)
time.sleep(0.05)
print("ready", flush=True)
time.sleep(60)`
	rank := collectAll(t, c, begin(t, c, hook, 0, "/usr/bin/python3", "-c", forks))[0]
	if len(rank.Processes) != 4 {
		t.Fatalf("%d processes, want 4: %+v", len(rank.Processes), rank)
	}
	for i, p := range rank.Processes {
		got := functions(p.Threads[0])
		if child := i > 0; slices.Contains(got, "child") != child || len(got) == 0 {
			t.Errorf("process %d: %q", i, got)
		}
	}
	threads := rank.Processes[0].Threads
	if last := threads[len(threads)-1]; last.TID != 0 || !slices.Contains(functions(last), "loader") {
		t.Errorf("the second Python thread: %+v", threads)
	}
}

func TestManyWorkers(t *testing.T) {
	t.Parallel()
	c, hook := prepared(t)
	var workers []Worker
	for i := range 64 {
		workers = append(workers, begin(t, c, hook, i, "/usr/bin/python3", "-S", "-c", sleeper))
	}
	began := time.Now()
	for i, rank := range collectAll(t, c, workers...) {
		if rank.Rank != i || len(rank.Processes) != 1 {
			t.Errorf("rank %d: %+v", i, rank)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestWorkersWithoutPython(t *testing.T) {
	t.Parallel()
	c, hook := prepared(t)
	w := begin(t, c, hook, 0, "/bin/sh", "-c", "echo ready; sleep 60; :")
	if AnyPython([]Worker{w}) {
		t.Error("a shell is taken for Python")
	}
	rank := collectAll(t, c, w)[0]
	for _, missing := range rank.Missing {
		if strings.Contains(missing, "Python") {
			t.Errorf("missing: %s", missing)
		}
	}
	ended := collectAll(t, c, Worker{PID: w.PID, Exit: "exited with code 1"})[0]
	if len(ended.Processes) > 0 || ended.Exit == "" {
		t.Errorf("a worker that has ended: %+v", ended)
	}
}
