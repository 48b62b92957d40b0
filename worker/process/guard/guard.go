// Package guard puts a process between the shell and the agent, so that nothing is left
// of a run that was killed:
//
//	guard     the visible gpurun: forwards signals, waits for the agent, and
//	          kills the processes that are reparented to it
//	agent     the same binary, executed again: starts the workers
//	workers   die with the agent (PR_SET_PDEATHSIG)
//
// Guard and agent are subreapers. The lifeline is a pair of sockets, whose ends the guard and
// the agent alone hold. The agent learns of the guard's death by it, and answers signals.
package guard

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/orphans"
	"gpurun/worker/process/procfs"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/subreaper"
)

// killTimeout bounds the time until the processes below this one have died of SIGKILL.
const killTimeout = 2 * time.Second

// Run executes this program again, with the same arguments, as the agent: there,
// OpenLifeline returns a Lifeline. Run passes signals on and returns when
// the agent has ended and everything below it is dead, with the agent's exit
// code, or 128+n if signal n killed it. The third signal that asks for the end
// kills an agent that does not react; then n is the first one's number. An agent
// that is stopped, or does not answer, is ended as health.go says;
// notify gets a sentence about it at once. If the agent could not report it, the error is a NotAnsweringError.
//
// The process must have no other children, and must not start any.
func Run(incoming <-chan os.Signal, notify func(string)) (exitCode int, err error) {
	if err := procfs.CheckNamespace(); err != nil {
		return 0, err
	}
	if err := subreaper.Become(); err != nil {
		return 0, err
	}
	if err := hideDescriptors(); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // PR_SET_PDEATHSIG tells the agent of the end of the thread that forked it
	defer runtime.UnlockOSThread()
	runtimes, err := openRuntimeOutput()
	if err != nil {
		return 0, err
	}
	mark, err := orphans.Mark()
	if err != nil {
		return 0, err
	}
	caught, release := catchDeadly() // before there is a job, which one would leave behind
	defer release()
	suspends, ignore := catchSuspend()
	defer ignore()
	agent, lifeline, err := startAgent(runtimes, mark)
	if err != nil {
		return 0, fmt.Errorf("starting the agent: %w", err)
	}
	defer lifeline.Close()
	swept := make(chan error, 1)
	go func() { swept <- orphans.Sweep(os.TempDir(), LifelineVariable) }()
	defer func() {
		if failure := <-swept; failure != nil { // of another job: this one's code stays
			notify(failure.Error())
		}
	}()
	exitCode, err = await(agent, lifeline, incoming, caught, suspends, notify)
	err = errors.Join(err, subreaper.KillDescendants(killTimeout))
	return exitCode, errors.Join(runtimes.crash(agent.Process.Pid), err)
}

// startAgent starts the agent and returns the guard's end of the lifeline.
func startAgent(runtimes *runtimeOutput, mark string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the lifeline: %w", err)
	}
	own, agents := os.NewFile(uintptr(pair[0]), "lifeline"), os.NewFile(uintptr(pair[1]), "lifeline")
	defer agents.Close()
	const firstExtraFile = 3
	agent := &exec.Cmd{
		Path: self,
		Args: os.Args,
		Env: append(os.Environ(), LifelineVariable+"="+strconv.Itoa(firstExtraFile),
			stderrVariable+"="+strconv.Itoa(firstExtraFile+1), orphans.Variable+"="+mark),
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     runtimes.write,
		ExtraFiles: []*os.File{agents, os.Stderr},
		// A session of its own: a terminal's Ctrl-C reaches the guard only, and
		// reading or writing a terminal does not stop the agent. The guard's death
		// continues an agent that is stopped, which then finds the lifeline closed.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	}
	defer runtimes.write.Close()
	if err := agent.Start(); err != nil {
		own.Close()
		return nil, nil, err
	}
	return agent, own, nil
}

// exitCodeOf turns the end of the agent into an exit code. A signal among received that
// came before the agent could catch it killed the agent.
func exitCodeOf(state *os.ProcessState, err error, received []syscall.Signal) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for the agent: %w", err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok || !status.Signaled():
		return state.ExitCode(), nil
	case len(received) > 0:
		return 128 + int(received[0]), fmt.Errorf("ended by %s", signals.Name(received[0]))
	}
	signal := status.Signal()
	if signal == syscall.SIGPIPE { // the reader of the output has closed it
		return 128 + int(signal), nil
	}
	return 128 + int(signal), fmt.Errorf("the agent (pid %d) was killed by %s; its workers were ended", state.Pid(),
		signals.Name(signal))
}

// hideDescriptors keeps the agent and the workers from inheriting descriptors above 2
// that this process inherited, such as a job server's.
func hideDescriptors() error {
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
