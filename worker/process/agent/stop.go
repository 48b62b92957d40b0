package agent

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// stop is how far the ending of a run has come. Times are zero until they
// apply.
type stop struct {
	settle time.Time // a consequence was seen; when to act on it
	begun  time.Time // workers were told to end
	signal syscall.Signal
	grace  time.Duration
	cause  error     // why, when no worker's failure is the reason
	killAt time.Time // when to kill those that are left
	killed time.Time // when they were killed
	told   bool      // of a failure, by Spec.Failed
	asked  int       // how many signals asked for the end
}

// interrupt ends the group because ctx has ended.
func (g *group) interrupt(cause error) {
	var signalled Signalled
	switch {
	case !errors.As(cause, &signalled):
		g.end(syscall.SIGTERM, g.spec.Grace, cause)
	case slices.Contains(g.spec.Handled, signalled.Signal):
		g.end(signalled.Signal, g.spec.SignalGrace, cause)
	default:
		g.end(syscall.SIGKILL, 0, cause)
		g.kill()
	}
}

// signalled handles a signal to the agent.
func (g *group) signalled(signal os.Signal) {
	number, ok := signal.(syscall.Signal)
	switch {
	case !ok:
		return
	case !endsRun(number) && !slices.Contains(g.spec.Handled, number):
		g.passOn(number)
		return
	}
	g.stop.asked++
	if g.stop.asked > 1 {
		g.kill()
		return
	}
	g.interrupt(Signalled{number})
}

// end tells the workers to end, once. A worker that has said that it is leaving
// may do so in peace. SIGCONT lets a stopped process see the signal.
func (g *group) end(signal syscall.Signal, grace time.Duration, cause error) {
	if !g.stop.begun.IsZero() {
		return
	}
	g.stop.begun, g.stop.signal, g.stop.grace, g.stop.cause = time.Now(), signal, grace, cause
	g.stop.killAt = g.stop.begun.Add(grace)
	g.log.Debug("ending the workers", zap.Stringer("signal", signal), zap.Duration("grace", grace), zap.NamedError("cause", cause))
	told := func(w *worker) bool { return !w.leaving || w.exit != nil }
	g.signalAll(signal, told)
	g.signalAll(syscall.SIGCONT, told)
}

// kill kills the workers' process groups, once.
func (g *group) kill() {
	if g.stop.killed.IsZero() {
		g.stop.killed = time.Now()
		g.signalAll(syscall.SIGKILL, func(*worker) bool { return true })
	}
}
