package collect

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/pyhook"
	"gpurun/worker/process/procfs"
)

// processes describes the processes of a worker, with the stacks of their Python threads.
func processes(ctx context.Context, pids []procfs.Process, stacks *stackFile) func(*dump.Rank) {
	var all []dump.Process
	var missing []string
	miss := func(text string) {
		if text != "" && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	// Python first: its stacks change while the rest is read.
	python := map[int][]dump.Thread{}
	for _, p := range pids {
		found, err := pythonStacks(ctx, p.PID, stacks)
		python[p.PID] = found
		if err != nil {
			miss(fmt.Sprintf("Python stacks of pid %d: %v", p.PID, err))
		}
	}
	for _, p := range pids {
		found, withoutKernel := threads(p.PID)
		if len(found) == 0 {
			continue
		}
		miss(withoutKernel)
		all = append(all, dump.Process{
			PID: p.PID, Parent: p.Parent, Command: command(p.PID, found[0].Name), Threads: withPython(found, python[p.PID]),
		})
	}
	return func(r *dump.Rank) {
		r.Processes = all
		r.Missing = append(r.Missing, missing...)
	}
}

// withPython adds Python stacks to the threads that they belong to. faulthandler tells which is the main thread, and
// no more: the other stacks follow as threads without a TID.
func withPython(threads, python []dump.Thread) []dump.Thread {
	for i, p := range python {
		at := slices.IndexFunc(threads, func(t dump.Thread) bool { return t.TID == p.TID })
		switch {
		case p.TID == 0 && i == 0:
			threads[0].Python = p.Python
		case p.TID != 0 && at >= 0:
			threads[at].Python = p.Python
		case len(p.Python) > 0:
			threads = append(threads, p)
		}
	}
	return threads
}

// pythonStacks gets the stacks of a process's Python threads: by faulthandler where the process is prepared, else by
// py-spy. Both are nil for a process that is not Python.
func pythonStacks(ctx context.Context, pid int, stacks *stackFile) ([]dump.Thread, error) {
	err := errNotPrepared
	if stacks.path != "" {
		var found []dump.Thread
		if found, err = stacks.ask(ctx, pid); err == nil {
			return found, nil
		}
	}
	if !isPython(pid) {
		return nil, nil
	}
	found, spyErr := pySpy(ctx, pid)
	if spyErr == nil {
		return found, nil
	}
	return nil, fmt.Errorf("%w; %w", err, spyErr)
}

// isPython reports whether a process is a Python interpreter, by its executable or its own name for it.
func isPython(pid int) bool {
	executable, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && pyhook.IsPython(executable)
}

// AnyPython reports whether one of the workers that run, or a descendant, is a Python program.
func AnyPython(workers []Worker) bool {
	all, err := procfs.Processes()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(workers, func(w Worker) bool {
		return w.Exit == "" && slices.ContainsFunc(tree(all, w.PID), func(p procfs.Process) bool { return isPython(p.PID) })
	})
}

// mostCommand is how many bytes of a command line are kept.
const mostCommand = 1000

// command is the command line of a process, or the name of its main thread in brackets. The kernel does not answer
// while a thread of the process holds the lock of its memory map, and is stuck.
func command(pid int, name string) string {
	const bound = 200 * time.Millisecond
	answer := make(chan string, 1)
	go func() { answer <- read(fmt.Sprintf("/proc/%d/cmdline", pid)) }()
	select {
	case text := <-answer:
		text = strings.ReplaceAll(strings.TrimRight(text, "\x00"), "\x00", " ")
		if text != "" {
			return strings.ToValidUTF8(text[:min(len(text), mostCommand)], "\uFFFD")
		}
	case <-time.After(bound):
	}
	return "[" + name + "]"
}

// CatchingAbort lists the processes of the workers that run, are Python, cannot be asked for their stacks, and catch
// SIGABRT, as faulthandler does, which then writes the stacks.
func CatchingAbort(workers []Worker) (pids []int) {
	all, err := procfs.Processes()
	if err != nil {
		return nil
	}
	for _, w := range workers {
		if w.Exit != "" {
			continue
		}
		for _, p := range tree(all, w.PID) {
			asked, askedErr := procfs.Signal(p.PID, pyhook.Signal)
			aborted, abortedErr := procfs.Signal(p.PID, syscall.SIGABRT)
			if askedErr == nil && abortedErr == nil && !asked.Caught && aborted.Caught && isPython(p.PID) {
				pids = append(pids, p.PID)
			}
		}
	}
	return pids
}
