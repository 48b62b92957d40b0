package faults

import (
	"errors"
	"strings"
	"syscall"
	"time"
)

// signalFaults are signals that another process sends to the victim.
func signalFaults() []Fault {
	return []Fault{
		{
			Name: "kill -9", Does: "Another process sends SIGKILL to the victim.",
			Strike: func(s *Scene) error { return errors.Join(s.signal(syscall.SIGKILL), s.survive()) },
		},
		{
			Name: "SIGSTOP", Does: "Another process stops the victim.",
			Job: stoppedJob, Strike: strikeStop,
		},
		{Name: "segfault", Does: "Another process sends SIGSEGV to the victim.", Strike: func(s *Scene) error {
			return errors.Join(s.signal(syscall.SIGSEGV, syscall.SIGCONT), s.survive())
		}},
	}
}

// survive has the worker end well that goes on when the other node is lost at the end: that node's part is done.
func (s *Scene) survive() error {
	if s.Cell.Victim != OtherNode || s.Cell.Moment != AtEnd {
		return nil
	}
	time.Sleep(pause)
	return s.tell(s.observed(), "exit 0")
}

// stoppedJob makes so many calls that the other rank, which waits in a kernel, is still enqueueing when it gives up.
func stoppedJob(c Cell) Job {
	if c.Victim != Worker || c.Moment != InCollective {
		return jobOf(c)
	}
	job := collectiveJob(c, "-n", "1000000", "-N", "1")
	job.Ready = func(s *Scene) error {
		err := s.await("the header of the table", func() bool { return strings.Contains(s.stdout(0), "#wrong") })
		time.Sleep(2 * pause) // the first calls are verified meanwhile
		return err
	}
	return job
}

// strikeStop stops the victim. A guard, a program or a node that is stopped is paused, which is no failure: the test
// asks for the end of what a stop does not end, and continues it.
func strikeStop(s *Scene) error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	switch s.Cell.Victim {
	case Guard:
		if err := s.End(); err != nil {
			return err
		}
		time.Sleep(pause)
		return s.signal(syscall.SIGCONT)
	case Worker:
		if s.Cell.Moment == AtEnd {
			return s.End()
		}
	case Node0, OtherNode:
		if err := s.survive(); err != nil {
			return err
		}
		return errors.Join(s.awaitEnd(s.observed()), s.signal(syscall.SIGCONT))
	}
	return nil
}

// pause is how long a guard stays stopped.
const pause = 500 * time.Millisecond
