package guard

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"gpurun/worker/process/crash"
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

// endFor ends the job because the guard has received a deadly signal.
func (w *watch) endFor(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok || w.deadly != nil {
		return nil
	}
	const text = "the guard (pid %d) received %s, which another process has sent: it ended the job"
	w.deadly = &crash.Error{What: fmt.Sprintf(text, os.Getpid(), signals.Name(number))}
	w.notify(w.deadly.Error())
	w.health.ask(syscall.SIGTERM)
	return w.end()
}
