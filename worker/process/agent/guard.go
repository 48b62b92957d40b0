package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Guard executes this program again, with the same arguments, as the agent: in
// it, UnderGuard returns a Lifeline. Guard passes signals on and returns when
// the agent has ended and everything below it is dead, with the agent's exit
// code, or 128+n if signal n killed it. The third signal that asks for the end
// kills an agent that does not react; then n is the first one's number.
//
// The process must have no other children, and must not start any.
func Guard(signals <-chan os.Signal) (exitCode int, err error) {
	if err := checkProc(); err != nil {
		return 0, err
	}
	if err := becomeSubreaper(); err != nil {
		return 0, err
	}
	if err := keepDescriptors(); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // of which the agent is to miss the end, not that of some other thread
	defer runtime.UnlockOSThread()
	agent, held, err := startAgent()
	if err != nil {
		return 0, fmt.Errorf("starting the agent: %w", err)
	}
	defer held.Close()
	exitCode, err = await(agent, signals)
	return exitCode, errors.Join(err, sweep(sweepBound))
}

// startAgent starts the agent and returns the lifeline's writing end.
func startAgent() (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer read.Close()
	const firstExtraFile = 3
	agent := &exec.Cmd{
		Path:       self,
		Args:       os.Args,
		Env:        append(os.Environ(), lifelineVariable+"="+strconv.Itoa(firstExtraFile)),
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		ExtraFiles: []*os.File{read},
		// A session of its own: a terminal's Ctrl-C reaches the guard only, and
		// reading or writing a terminal does not stop the agent. One that is stopped
		// all the same goes on when the guard dies, and finds the lifeline cut.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	}
	if err := agent.Start(); err != nil {
		write.Close()
		return nil, nil, err
	}
	return agent, write, nil
}

// await passes signals on until the agent has ended.
func await(agent *exec.Cmd, signals <-chan os.Signal) (exitCode int, err error) {
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	const patience = 3
	var asked []syscall.Signal // for the end
	for {
		select {
		case s := <-signals:
			number, ok := s.(syscall.Signal)
			if ok && endsRun(number) {
				asked = append(asked, number)
			}
			if len(asked) >= patience {
				s = syscall.SIGKILL
			}
			if err := agent.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return 0, fmt.Errorf("passing %v on to the agent: %w", s, err)
			}
		case err := <-ended:
			return exitCodeOf(agent.ProcessState, err, asked)
		}
	}
}

// exitCodeOf turns the end of the agent into an exit code. asked are the
// signals that asked for it; one that comes before the agent can catch it
// kills the agent.
func exitCodeOf(state *os.ProcessState, err error, asked []syscall.Signal) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for the agent: %w", err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok || !status.Signaled():
		return state.ExitCode(), nil
	case len(asked) > 0:
		return 128 + int(asked[0]), fmt.Errorf("ended by %s", SignalName(asked[0]))
	}
	signal := status.Signal()
	if signal == syscall.SIGPIPE { // whoever read the output has seen enough
		return 128 + int(signal), nil
	}
	return 128 + int(signal), fmt.Errorf("the agent (pid %d) was killed by %s; its workers were ended", state.Pid(), SignalName(signal))
}

// keepDescriptors keeps descriptors that this process inherited beyond the
// standard three, such as a job server's, from the agent and the workers.
func keepDescriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("listing descriptors: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
