// Package spawn starts processes that die with this one, and waits for their end.
package spawn

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Thread is the OS thread that starts processes, and that lives as long as they do:
// the kernel delivers PR_SET_PDEATHSIG when the thread that forked ends, not
// the process.
type Thread struct {
	requests chan request
	results  chan error
}

// request asks for a process that runs on these CPUs, or on any if the list is empty.
type request struct {
	cmd  *exec.Cmd
	cpus []int
}

// NewThread starts the thread.
func NewThread() *Thread {
	t := newThread()
	go t.leaveMainThread()
	return t
}

func newThread() *Thread {
	return &Thread{requests: make(chan request), results: make(chan error, 1)}
}

// leaveMainThread serves requests on any thread but the main one. Go parks the main thread
// in place of ending it, so that processes which it had started would outlive Close.
func (t *Thread) leaveMainThread() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		t.serve()
		return
	}
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread() // another thread: the main one is still locked
		close(locked)
		t.serve()
	}()
	<-locked
	runtime.UnlockOSThread()
}

// serve starts the processes. Its goroutine stays locked, so that the thread ends with it.
func (t *Thread) serve() {
	for r := range t.requests {
		t.results <- r.start()
	}
}

// forkTimeout is how long Start waits for a fork after the end of its context.
const forkTimeout = 2 * time.Second

// start starts the process. A child inherits the CPUs of the thread that forks it.
func (r request) start() error {
	if len(r.cpus) > 0 {
		var set unix.CPUSet
		for _, cpu := range r.cpus {
			set.Set(cpu)
		}
		const thisThread = 0
		if err := unix.SchedSetaffinity(thisThread, &set); err != nil {
			return fmt.Errorf("binding it to CPUs %v: %w", r.cpus, err)
		}
	}
	return r.cmd.Start()
}

// Start starts a process that runs on these CPUs, or on any if there are none. Only an
// executable on a file system that does not answer takes long; then the end of ctx ends
// the wait.
func (t *Thread) Start(ctx context.Context, cmd *exec.Cmd, cpus []int) error {
	t.requests <- request{cmd: cmd, cpus: cpus}
	select {
	case err := <-t.results:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-t.results:
		return err
	case <-time.After(forkTimeout):
		return errors.New("the operating system does not answer")
	}
}

// Close ends the thread. Processes that it started and that still live die.
func (t *Thread) Close() { close(t.requests) }
