package tcpstore

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// courtesy lets others run before the loop waits. It takes no time from an
// idle store, which is not asked.
type courtesy struct {
	rescheduled time.Time     // when Go's scheduler had its last turn
	notBefore   time.Time     // when the system's may have its next one
	took        time.Duration // the system's last turn
}

const (
	// Go's monitor takes a goroutine that has not yielded for 10 ms for one that
	// hogs its processor: it then looks every 20 us, and takes the processor away
	// in every system call.
	rescheduleAfter = 4 * time.Millisecond

	// Whoever yields to the system may have to wait until a stranger's turn is
	// over, some milliseconds. It was the clients' turn if they used it, and sent
	// so many requests; if not, it is not done again soon.
	perRequest = 100 * time.Microsecond
	stayAfter  = 50 * time.Millisecond
)

// yield is called when clients have been served, with the number of requests. A
// client that was sent a reply, or has more to send, often shares the processor
// with the store, and is slower when it must wake the store: it gets its turn
// before the store falls asleep. Where nobody else wants the processor, this
// does nothing.
func (c *courtesy) yield(served int) {
	now := time.Now()
	if now.Sub(c.rescheduled) > rescheduleAfter {
		c.rescheduled = now
		runtime.Gosched()
	}
	if c.took > perRequest*time.Duration(1+served) {
		c.notBefore = now.Add(stayAfter)
	}
	c.took = 0
	if now.Before(c.notBefore) {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // never fails
	c.took = time.Since(now)
}
