package tcpstore

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pace is what the loop does between serving clients and waiting for them. To
// be woken costs store and client several times what a request does, so that
// the loop goes on looking for a while, as long as that pays, and lets requests
// that nobody waits for come together. An idle store does none of it.
type pace struct {
	rescheduled time.Time // when Go's scheduler had its last turn
	dense       bool      // requests come so fast that looking may find the next
	vain        int       // sleeps after the last look in vain, less the looks that paid since
	skip        int       // how many of them are yet to come, before looking again
	crowd       crowd
	crowdSize   int // from which on it is worth a nap
}

const (
	// Go's monitor takes a goroutine that has not yielded for 10 ms for one that
	// hogs its processor: it then looks every 20 us, and takes the processor away
	// in every system call.
	rescheduleAfter = 4 * time.Millisecond

	// lookFor is about what a sleep and a wake-up cost, so that a look in vain
	// at most doubles that.
	lookFor = 20 * time.Microsecond

	// A client on the store's own processor cannot send while the store looks.
	// After each look in vain the loop sleeps at once twice as often as after
	// the one before, but at most so often. A look that pays takes one off that,
	// since it saves much less than one in vain costs.
	mostSkipped = 256

	// Of so many clients for each processor, some can run on any of them when the
	// store has served all that has come. Woken by the first who sends, it would
	// serve one or two at a time, with a wake-up for each time; after a nap it is
	// ten. Fewer clients would leave a processor idle meanwhile.
	crowdPerProcessor = 16
	crowdNap          = 50 * time.Microsecond
)

// served is called when clients have been served.
func (p *pace) served() {
	if now := time.Now(); now.Sub(p.rescheduled) > rescheduleAfter {
		p.rescheduled = now
		runtime.Gosched()
	}
}

func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal may end it
}

// naps says whether to nap before the next sleep, rather than to look.
func (p *pace) naps() bool { return p.dense && p.crowd.size >= p.crowdSize }

// looks says whether to look before the next sleep.
func (p *pace) looks() bool {
	if p.skip > 0 {
		p.skip--
		return false
	}
	return p.dense
}

// looked is called with what looking has led to.
func (p *pace) looked(found bool) {
	if found {
		p.vain = max(0, p.vain-1)
		return
	}
	p.dense = false
	p.vain = min(2*p.vain+1, mostSkipped)
	p.skip = p.vain
}

// slept is called with the time that the loop slept for.
func (p *pace) slept(d time.Duration) { p.dense = d < 2*lookFor }
