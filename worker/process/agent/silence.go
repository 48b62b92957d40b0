package agent

import (
	"fmt"
	"os"
	"time"
)

// HangError is why a run ends that hangs.
type HangError struct{ Silence time.Duration }

func (e *HangError) Error() string {
	return fmt.Sprintf("the job hangs: no worker has written anything or shown a heartbeat for %v (--hang-timeout)",
		e.Silence)
}

// silentAt returns when the workers will have been silent for too long, and false if no time is set for that.
func (g *group) silentAt(now time.Time) (time.Time, bool) {
	dumps := g.spec.Dumps
	if dumps == nil || dumps.Hang <= 0 || g.ending.begun() || g.dumping.done != nil || len(g.workers) == 0 {
		return time.Time{}, false
	}
	last := g.resumed
	for _, w := range g.workers {
		_, heard := w.lastReport()
		for _, at := range []time.Time{w.startedAt, w.exitedAt, w.lastWrite(), heard, g.heartbeat(w, now)} {
			if at.After(last) {
				last = at
			}
		}
	}
	return last.Add(dumps.Hang), true
}

// silenceInterval is how often the loop looks whether silent workers have begun to write again. Until it has seen that,
// the other nodes take the workers for silent.
const silenceInterval = 200 * time.Millisecond

// silenceAt returns when to look for silence, or at if that is earlier.
func (g *group) silenceAt(now, at time.Time) time.Time {
	silent, applies := g.silentAt(now)
	switch {
	case !applies:
		return at
	case g.dumping.silent:
		return earlier(at, now.Add(silenceInterval))
	}
	return earlier(at, silent)
}

// heartbeat is when a worker was last seen to have touched its file; zero: never.
func (g *group) heartbeat(w *worker, now time.Time) time.Time {
	if g.spec.Dumps.Heartbeat == nil {
		return time.Time{}
	}
	info, err := os.Stat(g.spec.Dumps.Heartbeat(w.LocalRank))
	if err != nil {
		return time.Time{}
	}
	return w.heartbeat.look(info.ModTime(), now)
}

// heartbeat is what is known of the file that a worker touches. A change of its modification time is the sign of life,
// from the moment that the agent sees it: the time itself may be of another clock, or the clock may have been set.
type heartbeat struct {
	modified time.Time // the file's modification time
	seen     time.Time // when it was first seen
}

// look takes note of the file's modification time, and returns when the last change was seen. The agent looks every
// longestWait at least.
func (h *heartbeat) look(modified, now time.Time) time.Time {
	if !modified.Equal(h.modified) {
		h.modified, h.seen = modified, now
	}
	return h.seen
}

// checkSilence begins the end of a job that hangs.
func (g *group) checkSilence(now time.Time) {
	d := &g.dumping
	at, applies := g.silentAt(now)
	if !applies {
		return
	}
	silent := due(at, now)
	switch tell := g.spec.Dumps.Silent; {
	case tell != nil && silent != d.silent:
		d.silent = silent
		tell(silent)
	case tell == nil && silent:
		g.dump(DumpRequest{Reason: (&HangError{Silence: g.spec.Dumps.Hang}).Error(), Hang: true})
	}
}
