package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lifelineVariable is by what a guard tells its agent the lifeline's
// descriptor. Workers do not see it.
const lifelineVariable = "GPURUN_LIFELINE_FD"

// ErrGuardGone is why a run ends when somebody killed the guard.
var ErrGuardGone = errors.New("the guard process is gone: gpurun was killed")

// Lifeline is the agent's view of its guard. The methods that Run uses do
// nothing on a nil Lifeline.
type Lifeline struct {
	pipe   *os.File
	gone   chan struct{}
	deaths chan os.Signal // a child has ended: a worker, or an orphan that became one
	unseen bool           // one of those, nobody has looked for
	looked time.Time      // when somebody last did
}

// UnderGuard returns the lifeline of a process that Guard started, and nil in
// any other process. It makes the process a subreaper.
func UnderGuard() (*Lifeline, error) {
	text, ok := os.LookupEnv(lifelineVariable)
	if !ok {
		return nil, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s=%q is not a descriptor above 2: unset it", lifelineVariable, text)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, fmt.Errorf("descriptor %d of %s is not a pipe: unset it", fd, lifelineVariable)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("opening the lifeline: %w", err)
	}
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	if err := os.Unsetenv(lifelineVariable); err != nil {
		return nil, fmt.Errorf("removing %s from the environment: %w", lifelineVariable, err)
	}
	l := &Lifeline{pipe: os.NewFile(uintptr(fd), "lifeline"), gone: make(chan struct{}), deaths: make(chan os.Signal, 1)}
	signal.Notify(l.deaths, syscall.SIGCHLD)
	go l.watch()
	return l, nil
}

// orphanBound is how long an agent without a guard may take to end by itself.
const orphanBound = 1500 * time.Millisecond

// watch waits for the guard's death. An agent that then does not end in time,
// because it is blocked somewhere, is ended with everything below it.
func (l *Lifeline) watch() {
	if _, err := io.Copy(io.Discard, l.pipe); err != nil {
		return // closed
	}
	close(l.gone)
	time.Sleep(orphanBound)
	// There is nobody left to tell about an error.
	_ = sweep(sweepBound)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// Gone is closed when the guard is gone.
func (l *Lifeline) Gone() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.gone
}

// Close ends the watch.
func (l *Lifeline) Close() error {
	signal.Stop(l.deaths)
	select {
	case <-l.gone:
		return nil
	default:
		return l.pipe.Close()
	}
}

// sweep ends all processes below this one.
func (l *Lifeline) sweep() error {
	if l == nil {
		return nil
	}
	return sweep(sweepBound)
}

// reapPause is how long an orphan that has ended may hold its process ID, so that many
// at a time are looked for together.
const reapPause = 50 * time.Millisecond

// Deaths tells that a child has ended; who hears it calls died.
func (l *Lifeline) Deaths() <-chan os.Signal {
	if l == nil {
		return nil
	}
	return l.deaths
}

func (l *Lifeline) died() { l.unseen = true }

// reapAt is when to call reapOrphans, if ever.
func (l *Lifeline) reapAt() (at time.Time, ok bool) {
	if l == nil || !l.unseen {
		return at, false
	}
	return l.looked.Add(reapPause), true
}

// reapOrphans reaps orphans that became this process's children and have ended, when it is time to.
func (l *Lifeline) reapOrphans(now time.Time, workers []int) {
	if at, ok := l.reapAt(); ok && !now.Before(at) {
		l.unseen, l.looked = false, now
		reapOrphans(workers)
	}
}
