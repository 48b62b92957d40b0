package agent

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// A spawner starts processes from one OS thread that lives as long as they do:
// the kernel delivers PR_SET_PDEATHSIG when the thread that forked ends, not
// the process.
type spawner struct {
	requests chan *exec.Cmd
	results  chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan *exec.Cmd), results: make(chan error, 1)}
	go func() {
		// Not unlocked, so that the thread ends with the goroutine.
		runtime.LockOSThread()
		for cmd := range s.requests {
			s.results <- cmd.Start()
		}
	}()
	return s
}

// spawnBound is how long start waits for a fork once nobody wants it any more.
const spawnBound = 2 * time.Second

// start starts cmd. It takes long only where the executable's file system does
// not answer; then the end of ctx ends the wait.
func (s *spawner) start(ctx context.Context, cmd *exec.Cmd) error {
	s.requests <- cmd
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
