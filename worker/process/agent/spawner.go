package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A spawner starts processes from one OS thread that lives as long as they do:
// the kernel delivers PR_SET_PDEATHSIG when the thread that forked ends, not
// the process.
type spawner struct {
	requests chan request
	results  chan error
}

// request asks for a process that runs on these CPUs, or on any if there are none.
type request struct {
	cmd  *exec.Cmd
	cpus []int
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan request), results: make(chan error, 1)}
	go func() {
		// Not unlocked, so that the thread ends with the goroutine.
		runtime.LockOSThread()
		for r := range s.requests {
			s.results <- r.start()
		}
	}()
	return s
}

// spawnBound is how long start waits for a fork once nobody wants it any more.
const spawnBound = 2 * time.Second

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
	if err := r.cmd.Start(); err != nil {
		return unstartable(r.cmd.Path, err)
	}
	return nil
}

// start starts a process. It takes long only where the executable's file system does
// not answer; then the end of ctx ends the wait.
func (s *spawner) start(ctx context.Context, r request) error {
	s.requests <- r
	select {
	case err := <-s.results:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-s.results:
		return err
	case <-time.After(spawnBound):
		return errors.New("the operating system does not answer")
	}
}

// close ends the thread. Processes that it started and that still live die.
func (s *spawner) close() { close(s.requests) }
