package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"gpurun/worker/process/procfs"
	"gpurun/worker/process/signals"
)

// mostSignals is how many signals that ask for the end make the guard kill the agent.
const mostSignals = 3

// watch is the guard's view of a running agent.
type watch struct {
	process  *os.Process
	lifeline *os.File
	health   health
	suspends <-chan os.Signal   // see catchSuspend
	received []syscall.Signal   // those that ask for the end
	deadly   *DeadlySignalError // why the guard ended the job by itself; may be nil
	notify   func(string)
}

// await passes signals on, and checks the agent, until the agent has ended.
func await(agent *exec.Cmd, lifeline *os.File, incoming, deadly, suspends <-chan os.Signal, notify func(string),
) (int, error) {
	ended, answered := make(chan error, 1), make(chan struct{}, 1)
	go func() { ended <- agent.Wait() }()
	go func() {
		if _, err := lifeline.Read(make([]byte, 1)); err == nil {
			answered <- struct{}{}
		}
	}()
	w := &watch{
		process: agent.Process, lifeline: lifeline, health: health{pid: agent.Process.Pid}, suspends: suspends,
		notify: notify,
	}
	checks := time.NewTicker(checkInterval)
	defer checks.Stop()
	for {
		select {
		case s := <-incoming:
			if err := w.passOn(s); err != nil {
				return 0, err
			}
		case <-suspends:
			w.suspend()
		case s := <-deadly:
			if err := w.endFor(s); err != nil {
				return 0, err
			}
		case <-answered:
			w.health.answered = true
		case <-checks.C:
			if err := w.check(); err != nil {
				return 0, err
			}
		case err := <-ended:
			code, err := exitCodeOf(agent.ProcessState, err, w.received)
			return code, w.conclusion(agent.ProcessState, err)
		}
	}
}

// passOn passes a signal on. SIGCONT lets an agent that is stopped see a signal that asks for the end.
func (w *watch) passOn(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok || !signals.Ends(number) {
		return w.send(s)
	}
	w.received = append(w.received, number)
	w.health.ask(number)
	if len(w.received) >= mostSignals {
		return w.send(syscall.SIGKILL)
	}
	if len(w.received) > 1 {
		_, _ = w.lifeline.Write([]byte{byte(number)}) // see Again; an agent that has ended needs no signal
	}
	if w.stopped() {
		w.notify(fmt.Sprintf("the agent (pid %d) is stopped; it is continued by SIGCONT, to end the job", w.process.Pid))
	}
	return errors.Join(w.send(s), w.send(syscall.SIGCONT))
}

// check checks the agent once, and says at once what it ends the job for.
func (w *watch) check() error {
	said := w.health.conclusion
	remedy := w.health.check(w.stopped())
	if w.health.conclusion != said {
		w.notify(w.health.conclusion.Error())
	}
	switch remedy {
	case end:
		return w.end(syscall.SIGSTOP)
	case kill:
		return w.send(syscall.SIGKILL)
	}
	return nil
}

// end asks the agent to end for a signal, and continues it. The agent then reports the same reason as the guard, which
// it could not by SIGTERM.
func (w *watch) end(reason syscall.Signal) error {
	_, _ = w.lifeline.Write([]byte{byte(reason)}) // an agent that has ended needs none
	return w.send(syscall.SIGCONT)
}

// conclusion is why the guard ended an agent that did not end by itself, or else how the agent ended.
func (w *watch) conclusion(state *os.ProcessState, ended error) error {
	switch {
	case state.Exited(): // the agent has reported the reason
	case w.health.conclusion != nil:
		return w.health.conclusion
	case w.deadly != nil:
		return w.deadly
	}
	return ended
}

// stopped reports whether the agent is stopped. An agent without a readable /proc is not.
func (w *watch) stopped() bool {
	p, err := procfs.Read(w.process.Pid)
	return err == nil && p.Stopped
}

func (w *watch) send(s os.Signal) error {
	if err := w.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("passing %v on to the agent: %w", s, err)
	}
	return nil
}
