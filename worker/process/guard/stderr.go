package guard

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/crash"
)

// stderrVariable has the descriptor of the agent's standard error in the agent's environment.
const stderrVariable = "GPURUN_STDERR_FD"

// runtimeOutput is what is written to the agent's descriptor 2. The agent's own output has another descriptor, so that
// this is the Go runtime's, when the agent crashes, or a library's.
type runtimeOutput struct {
	write  *os.File // the agent's end
	filter crash.Filter
	done   chan struct{} // closed when everything has been read
}

// openRuntimeOutput passes on what is written, but for a crash.
func openRuntimeOutput() (*runtimeOutput, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	o := &runtimeOutput{write: write, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		defer read.Close()
		lines := bufio.NewReader(read)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 && o.filter.Pass(line) {
				_, _ = os.Stderr.Write(line) // a reader that is gone misses nothing
			}
			if err != nil {
				return
			}
		}
	}()
	return o, nil
}

// crash returns the crash of the agent, which has ended, or nil.
func (o *runtimeOutput) crash(pid int) error {
	const bound = time.Second // for a process out of reach that has inherited the pipe
	select {
	case <-o.done:
		return o.filter.Crash(fmt.Sprintf("the agent (pid %d)", pid))
	case <-time.After(bound):
		return nil
	}
}

// takeStderr takes the agent's standard error from the environment.
func takeStderr() (*os.File, error) {
	text := os.Getenv(stderrVariable)
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s=%q is not a descriptor above 2: unset it and %s", stderrVariable, text, LifelineVariable)
	}
	if err := os.Unsetenv(stderrVariable); err != nil {
		return nil, fmt.Errorf("removing %s from the environment: %w", stderrVariable, err)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), os.Stderr.Name()), nil
}
