package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/pystack"
)

// pySpyBound is how long py-spy may take for a process: it reads the interpreter's symbols first.
const pySpyBound = 1500 * time.Millisecond

// pySpy has py-spy read the stacks of a process. With --nonblocking it does not stop the process by ptrace.
func pySpy(ctx context.Context, pid int) ([]dump.Thread, error) {
	path, err := exec.LookPath("py-spy")
	if err != nil {
		return nil, errors.New("py-spy, which could read them, is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, pySpyBound)
	defer cancel()
	spy := exec.CommandContext(ctx, path, "dump", "--nonblocking", "--json", "--pid", strconv.Itoa(pid))
	spy.WaitDelay = 100 * time.Millisecond
	var stdout, stderr bytes.Buffer
	spy.Stdout, spy.Stderr = &stdout, &stderr
	ended := spy.Run() // the agent's reaper may have been faster: its answer alone counts
	threads, err := pystack.ReadPySpy(&stdout)
	if err != nil && ended != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("py-spy: %w: %s", ended, reason)
	}
	return threads, err
}
