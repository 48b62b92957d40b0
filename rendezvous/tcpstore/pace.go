package tcpstore

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pace is what the loop does between serving clients and waiting for them. An
// idle store does none of it.
type pace struct {
	rescheduled time.Time // when Go's scheduler had its last turn
	unanswered  int       // requests in a row that nobody was sent a reply for
}

const (
	// Go's monitor takes a goroutine that has not yielded for 10 ms for one that
	// hogs its processor: it then looks every 20 us, and takes the processor away
	// in every system call.
	rescheduleAfter = 4 * time.Millisecond

	// Somebody who sends this many SETs, and nothing that has an answer, waits for
	// nothing, and is slowed down most by having to wake the store for each. What
	// comes during a nap is served together. The request at the end of such a
	// stream may have to wait for the end of the nap.
	streamLength = 32
	nap          = 20 * time.Microsecond // and what Linux adds, some 50
)

// served is called when clients have been served, with the numbers of requests
// and of sent replies.
func (p *pace) served(requests, replies int) {
	if now := time.Now(); now.Sub(p.rescheduled) > rescheduleAfter {
		p.rescheduled = now
		runtime.Gosched()
	}
	p.unanswered += requests
	if replies > 0 {
		p.unanswered = 0
	}
	if p.unanswered >= streamLength {
		ts := unix.NsecToTimespec(int64(nap))
		_ = unix.Nanosleep(&ts, nil) // a signal may end it
	}
}
