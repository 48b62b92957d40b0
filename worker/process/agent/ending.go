package agent

import (
	"syscall"
	"time"
)

// Bounds on waits that nothing else limits.
const (
	// settleTime is how long a failure that follows from another waits for that other
	// failure to be noticed.
	settleTime = 250 * time.Millisecond
	// killBound is how long a process may take to die of SIGKILL. A process in an
	// uninterruptible system call does not die.
	killBound = 2 * time.Second
	// leftoverGrace is how long processes that workers of a failed run had left
	// in their groups, when the workers ended by themselves, may take to end.
	leftoverGrace = time.Second
)

// ending is the state of a run's end. It only decides; group acts. Times are zero until they apply.
type ending struct {
	settleAt  time.Time // a consequence was seen; when to end the run for it
	begunAt   time.Time // the workers were told to end
	signal    syscall.Signal
	cause     error     // why, when no worker's failure is the reason
	killAt    time.Time // when to kill the workers that are left
	killedAt  time.Time // they were killed
	announced bool      // Spec.Failed was called
	aborted   bool      // some got SIGABRT, and the kill waits for that
	requests  int       // how many signals asked for the end
}

// settle has the run end after settleTime, because a consequence was seen at that time.
func (e *ending) settle(at time.Time) {
	if e.settleAt.IsZero() {
		e.settleAt = at.Add(settleTime)
	}
}

// begin notes that the workers are now told to end; false: they have been told before.
func (e *ending) begin(now time.Time, signal syscall.Signal, grace time.Duration, cause error) bool {
	if e.begun() {
		return false
	}
	e.begunAt, e.signal, e.cause, e.killAt = now, signal, cause, now.Add(grace)
	return true
}

// kill notes that the workers are now killed; false: they have been killed before.
func (e *ending) kill(now time.Time) bool {
	if e.killed() {
		return false
	}
	e.killedAt = now
	return true
}

// abort notes that workers got SIGABRT, and are killed at that time.
func (e *ending) abort(killAt time.Time) { e.aborted, e.killAt = true, killAt }

// leftoversOnly brings the kill forward: all workers have ended, and no process that is left in
// their groups can have work to save.
func (e *ending) leftoversOnly() {
	e.killAt = earlier(e.killAt, e.begunAt.Add(leftoverGrace))
}

// request counts a signal that asks for the end, and reports whether it is the first.
func (e *ending) request() (first bool) {
	e.requests++
	return e.requests == 1
}

// delay puts off the kill.
func (e *ending) delay(by time.Duration) {
	if !e.killAt.IsZero() && !e.killed() {
		e.killAt = e.killAt.Add(by)
	}
}

// announce reports whether a failure at that time is to be announced: the first that
// ends the run, or one that turns out to be earlier.
func (e *ending) announce(failedAt time.Time) bool {
	if e.begun() && !(e.announced && e.precedes(failedAt)) {
		return false
	}
	e.announced = true
	return true
}

// begun reports whether the workers have been told to end.
func (e *ending) begun() bool { return !e.begunAt.IsZero() }

// killed reports whether the workers have been killed.
func (e *ending) killed() bool { return !e.killedAt.IsZero() }

// interrupted reports whether the run ends for another reason than a worker's failure.
func (e *ending) interrupted() bool { return e.cause != nil }

// interruption is that reason, or nil.
func (e *ending) interruption() error { return e.cause }

// precedes reports whether a time is before the workers were told to end.
func (e *ending) precedes(at time.Time) bool { return !e.begun() || at.Before(e.begunAt) }

// follows reports whether a time is after the workers were told to end.
func (e *ending) follows(at time.Time) bool { return e.begun() && at.After(e.begunAt) }

// sent reports whether the agent ends workers by that signal.
func (e *ending) sent(signal syscall.Signal) bool {
	return signal == e.signal || signal == syscall.SIGKILL || e.aborted && signal == syscall.SIGABRT
}

// mustBegin reports whether a consequence has waited long enough.
func (e *ending) mustBegin(now time.Time) bool { return due(e.settleAt, now) }

// mustKill reports whether the grace is over.
func (e *ending) mustKill(now time.Time) bool { return due(e.killAt, now) }

// unkillable reports whether workers have not died of SIGKILL in time.
func (e *ending) unkillable(now time.Time) bool {
	return e.killed() && now.Sub(e.killedAt) > killBound
}

// next returns when something becomes due, or at if that is earlier.
func (e *ending) next(at time.Time) time.Time {
	switch {
	case e.killed():
		return earlier(at, e.killedAt.Add(killBound+time.Millisecond))
	case e.begun():
		return earlier(at, e.killAt)
	case !e.settleAt.IsZero():
		return earlier(at, e.settleAt)
	}
	return at
}

// due reports whether a time that applies has come.
func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
