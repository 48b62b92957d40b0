package sim

import (
	"sync"
	"time"
)

// awakeClock counts the time of a device. Between two reads at most mostBetween counts, so that the waits of kernels do
// not expire while the process is stopped, as by SIGSTOP: a kernel that waits reads the clock often.
type awakeClock struct {
	start time.Time

	mu      sync.Mutex
	read    time.Duration // when the clock was last read, since start
	stopped time.Duration // the time that does not count
}

const mostBetween = 2 * time.Second

func newAwakeClock() *awakeClock { return &awakeClock{start: time.Now()} }

func (c *awakeClock) nanoseconds() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Since(c.start)
	c.stopped += max(0, now-c.read-mostBetween)
	c.read = now
	return uint64(now - c.stopped)
}
