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
	t := &Thread{requests: make(chan request), results: make(chan error, 1)}
	go func() {
		// Not unlocked, so that the thread ends with the goroutine.
		runtime.LockOSThread()
		for r := range t.requests {
			t.results <- r.start()
		}
	}()
	return t
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
