package guard

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"gpurun/worker/process/signals"
)

// deadly are the signals of a process that is wrong. When another process sends one, the Go runtime would print all
// stacks and exit. The runtime still ends this process for its own faults, such as a nil pointer.
func deadly() []os.Signal {
	return []os.Signal{
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGSYS,
	}
}

// catchDeadly catches these signals. The function undoes it.
func catchDeadly() (<-chan os.Signal, func()) {
	caught := make(chan os.Signal, 1) // the first ends the job
	signal.Notify(caught, deadly()...)
	return caught, func() { signal.Stop(caught) }
}

// DeadlySignalError is why the guard ended the job: it has received a signal of a process that is wrong.
type DeadlySignalError struct {
	PID    int // the guard's
	Signal syscall.Signal
}

func (e *DeadlySignalError) Error() string {
	return fmt.Sprintf("the guard (pid %d) received %s, which another process has sent: it ended the job", e.PID,
		signals.Name(e.Signal))
}

// isDeadly reports whether a signal is one of them.
func isDeadly(s syscall.Signal) bool { return slices.Contains(deadly(), os.Signal(s)) }

// endFor ends the job because the guard has received a deadly signal.
func (w *watch) endFor(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok || w.deadly != nil {
		return nil
	}
	w.deadly = &DeadlySignalError{PID: os.Getpid(), Signal: number}
	w.notify(w.deadly.Error())
	w.health.ask(syscall.SIGTERM)
	return w.end(number)
}
