package subreaper

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Reaper reaps orphans while a run goes on, so that their process IDs are free again.
// The kernel tells of them by SIGCHLD. It is for one goroutine. The methods of a nil
// Reaper do nothing.
type Reaper struct {
	exits    chan os.Signal
	pending  bool      // a child has exited since the last pass
	lastPass time.Time // over the children
}

// passInterval is the least time between two passes over the children, so that one pass
// reaps many orphans.
const passInterval = 50 * time.Millisecond

// NewReaper returns a reaper that gets SIGCHLD from now on.
func NewReaper() *Reaper {
	r := &Reaper{exits: make(chan os.Signal, 1)}
	signal.Notify(r.exits, syscall.SIGCHLD)
	return r
}

// Exits receives a signal when a child has exited: one that this process started, or
// an orphan. The receiver calls ChildExited.
func (r *Reaper) Exits() <-chan os.Signal {
	if r == nil {
		return nil
	}
	return r.exits
}

// ChildExited makes the next Reap due.
func (r *Reaper) ChildExited() { r.pending = true }

// DueAt returns when to call Reap; false: no child has exited since the last call.
func (r *Reaper) DueAt() (at time.Time, due bool) {
	if r == nil || !r.pending {
		return at, false
	}
	return r.lastPass.Add(passInterval), true
}

// Reap reaps the children that have exited, except the given ones, if that is due now.
func (r *Reaper) Reap(now time.Time, except []int) {
	if at, due := r.DueAt(); due && !now.Before(at) {
		r.pending, r.lastPass = false, now
		reapExited(except)
	}
}

// Close ends the reaper's SIGCHLD.
func (r *Reaper) Close() { signal.Stop(r.exits) }
