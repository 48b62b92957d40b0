package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/subreaper"
)

// LifelineVariable has the lifeline's descriptor in the agent's environment. Workers
// do not inherit it.
const LifelineVariable = "GPURUN_LIFELINE_FD"

// ErrGone is why a run ends when the guard was killed.
var ErrGone = errors.New("the guard process is gone: gpurun was killed")

// Lifeline tells the agent when its guard dies. The methods of a nil Lifeline, but for
// Close, do nothing.
type Lifeline struct {
	// Stderr is the agent's standard error. Descriptor 2 is for the Go runtime alone: see runtimeOutput.
	Stderr *os.File
	socket *os.File
	gone   chan struct{}
	again  chan os.Signal
	ended  chan error
	reaper *subreaper.Reaper
}

// OpenLifeline returns the lifeline of a process that Run started, and nil in any other
// process. It makes the process a subreaper.
func OpenLifeline() (*Lifeline, error) {
	text, ok := os.LookupEnv(LifelineVariable)
	if !ok {
		return nil, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s=%q is not a descriptor above 2: unset it", LifelineVariable, text)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("descriptor %d of %s is not a socket: unset it", fd, LifelineVariable)
	}
	unix.CloseOnExec(fd)
	stderr, err := takeStderr()
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("opening the lifeline: %w", err)
	}
	if err := subreaper.Become(); err != nil {
		return nil, err
	}
	if err := os.Unsetenv(LifelineVariable); err != nil {
		return nil, fmt.Errorf("removing %s from the environment: %w", LifelineVariable, err)
	}
	l := &Lifeline{
		Stderr: stderr, socket: os.NewFile(uintptr(fd), "lifeline"), gone: make(chan struct{}),
		again:  make(chan os.Signal, 1),
		ended:  make(chan error, 1),
		reaper: subreaper.NewReaper(),
	}
	go l.watch()
	return l, nil
}

// AgentTimeout is how long an agent without a guard may take to end by itself.
const AgentTimeout = 1500 * time.Millisecond

// watch waits for the guard's death. If the agent then does not end in time, because it
// is blocked, watch kills the agent and all processes below it.
func (l *Lifeline) watch() {
	for message := make([]byte, 1); ; {
		n, err := l.socket.Read(message)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil || n == 0 { // a guard that dies before it has read an answer resets the connection
			break
		}
		l.take(syscall.Signal(message[0]))
	}
	close(l.gone)
	time.Sleep(AgentTimeout)
	// An error cannot be reported: no process is left to read it.
	_ = l.KillDescendants()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// take handles a message of the guard, which is the number of a signal: one that asked for the end again, SIGSTOP for
// an agent that was stopped, or a deadly one that the guard has received.
func (l *Lifeline) take(number syscall.Signal) {
	var reason error
	switch {
	case number == syscall.SIGSTOP:
		reason = &NotAnsweringError{PID: os.Getpid()}
	case isDeadly(number):
		reason = &DeadlySignalError{PID: os.Getppid(), Signal: number}
	default:
		select {
		case l.again <- number:
		default: // the run ends at once already
		}
		return
	}
	select {
	case l.ended <- reason:
	default: // the run ends already
	}
}

// Context ends also when the guard ends the job by itself. Its cause is then an error that Said reports.
func (l *Lifeline) Context(parent context.Context) context.Context {
	if l == nil {
		return parent
	}
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case reason := <-l.ended:
			cancel(reason)
		case <-parent.Done():
			cancel(context.Cause(parent))
		}
	}()
	return ctx
}

// Said reports whether the guard has ended the job for this reason, and has said so.
func Said(reason error) bool {
	return errors.As(reason, new(*NotAnsweringError)) || errors.As(reason, new(*DeadlySignalError))
}

// Answer tells the guard that a signal which asks for the end has arrived.
func (l *Lifeline) Answer() {
	if l != nil {
		_, _ = l.socket.Write([]byte{1}) // a guard that is gone needs no answer
	}
}

// Again receives the second signal that asked the guard for the end. The kernel merges it with the first, if the agent
// has not yet caught that one.
func (l *Lifeline) Again() <-chan os.Signal {
	if l == nil {
		return nil
	}
	return l.again
}

// Gone is closed when the guard is gone.
func (l *Lifeline) Gone() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.gone
}

// Reaper reaps orphans of the agent's workers.
func (l *Lifeline) Reaper() *subreaper.Reaper {
	if l == nil {
		return nil
	}
	return l.reaper
}

// KillDescendants ends all processes below the agent.
func (l *Lifeline) KillDescendants() error {
	if l == nil {
		return nil
	}
	return subreaper.KillDescendants(killTimeout)
}

// Close ends the watch.
func (l *Lifeline) Close() error {
	l.reaper.Close()
	select {
	case <-l.gone:
		return nil
	default:
		return l.socket.Close()
	}
}
