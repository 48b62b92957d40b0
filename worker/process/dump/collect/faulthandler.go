package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/pyhook"
	"gpurun/worker/process/dump/pystack"
	"gpurun/worker/process/procfs"
)

// errNotPrepared is why a Python process cannot be asked by a signal.
var errNotPrepared = errors.New("gpurun's sitecustomize was not read (-S, -I, -E, another PYTHONPATH), " +
	"or the process has just begun, or is about to end")

// stackFile is the file to which the Python processes of one worker append their stacks. They are asked one by one, so
// that the text behind a request is the answer.
type stackFile struct{ path string }

const (
	// askBound is how long one process may take to write its stacks.
	askBound = 700 * time.Millisecond
	// askInterval is the time between two looks at a process that writes.
	askInterval = time.Millisecond
	// quiet is how many looks in a row must find the handler ended and nothing new in the file. One is not enough: the
	// kernel takes a signal off the pending ones shortly before it blocks it for the handler.
	quiet = 3
)

// ask has a process write its stacks, and returns them.
func (f *stackFile) ask(ctx context.Context, pid int) ([]dump.Thread, error) {
	before, err := procfs.Signal(pid, pyhook.Signal)
	if err != nil {
		return nil, err
	}
	if !before.Caught || !f.openIn(pid) {
		return nil, errNotPrepared
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	begin, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if err := syscall.Kill(pid, pyhook.Signal); err != nil {
		return nil, err
	}
	if err := awaitEnd(ctx, pid, file, before.Blocked); err != nil {
		return nil, err
	}
	if _, err := file.Seek(begin, io.SeekStart); err != nil {
		return nil, err
	}
	stacks, err := pystack.Read(file)
	if err != nil {
		return nil, err
	}
	if len(stacks.Threads) == 0 {
		return nil, errors.New("it took the signal for its stacks, but wrote none: the program has another handler " +
			"for SIGURG")
	}
	return stacks.Threads, nil
}

// awaitEnd waits until a process has handled the signal: it is no longer pending, nor blocked in the main thread, which
// it is while the handler runs, and the file has stopped growing.
func awaitEnd(ctx context.Context, pid int, file *os.File, blockedBefore bool) error {
	deadline := time.Now().Add(askBound)
	var size int64
	for calm := 0; calm < quiet; time.Sleep(askInterval) {
		s, err := procfs.Signal(pid, pyhook.Signal)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if calm++; s.Pending || s.Blocked && !blockedBefore || info.Size() != size {
			calm, size = 0, info.Size()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("it did not handle the signal for its stacks within %v: the main thread is stuck in the kernel, "+
				"or stopped", askBound)
		}
	}
	return nil
}

// openIn reports whether a process has the file open. A program may have closed all descriptors, and its handler would
// then write to another file.
func (f *stackFile) openIn(pid int) bool {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if to, err := os.Readlink(folder + "/" + entry.Name()); err == nil && to == f.path {
			return true
		}
	}
	return false
}
