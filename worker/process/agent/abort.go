package agent

import (
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"gpurun/worker/process/dump/collect"
)

// abortGrace is how long a Python program may take to write its stacks after SIGABRT.
const abortGrace = 300 * time.Millisecond

// abortPython has Python programs write their stacks to stderr, if the dump could not get them and the grace is over:
// by SIGABRT, which PYTHONFAULTHANDLER lets them catch. It reports whether SIGKILL waits for that. A core file, which
// SIGABRT would leave as well, is prevented.
func (g *group) abortPython() bool {
	if g.spec.Dumps == nil || g.ending.aborted || g.ending.killed() || g.workers.running() == 0 {
		return false
	}
	found := false
	for _, pid := range collect.CatchingAbort(g.targets()) {
		if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil); err != nil {
			g.log.Debug("preventing a core file", zap.Int("pid", pid), zap.Error(err))
			continue
		}
		found = syscall.Kill(pid, syscall.SIGABRT) == nil || found
	}
	if found {
		g.ending.abort(time.Now().Add(abortGrace))
	}
	return found
}
