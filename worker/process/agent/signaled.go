package agent

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"go.uber.org/zap"

	"gpurun/worker/process/procfs"
	"gpurun/worker/process/signals"
)

// signaled handles a signal to the agent.
func (g *group) signaled(signal os.Signal) {
	number, ok := signal.(syscall.Signal)
	switch {
	case !ok:
	case number == syscall.SIGUSR1 && g.spec.Dumps != nil && !slices.Contains(g.spec.Handled, number):
		g.userSignal()
	case !signals.Ends(number) && !slices.Contains(g.spec.Handled, number):
		g.passOn(number)
	case g.ending.request():
		g.interrupt(signals.Received{Signal: number})
	default:
		g.kill()
	}
}

// interrupted is told that the context has ended. A signal ends the dump in progress; all else waits for it: when a
// worker of another node has failed, that node has asked for the dump.
func (g *group) interrupted(cause error) {
	if errors.As(cause, new(signals.Received)) {
		g.interrupt(cause)
		return
	}
	g.afterDump(func() { g.interrupt(cause) })
}

// interrupt ends the group because ctx has ended, or a signal has come.
func (g *group) interrupt(cause error) {
	var received signals.Received
	switch {
	case !errors.As(cause, &received):
		g.end(syscall.SIGTERM, g.spec.Grace, cause)
	case slices.Contains(g.spec.Handled, received.Signal):
		g.end(received.Signal, g.spec.SignalGrace, cause)
	default:
		g.end(syscall.SIGKILL, 0, cause)
		g.kill()
	}
}

// passOn signals the workers' first processes and not their groups: a shell or a data loader in
// the group would die of SIGUSR1.
func (g *group) passOn(signal syscall.Signal) {
	for _, w := range g.workers {
		g.passOnTo(w, signal)
	}
}

func (g *group) passOnTo(w *worker, signal syscall.Signal) {
	if !w.running() {
		return
	}
	if err := w.signalFirst(signal); err != nil {
		g.log.Warn("cannot pass a signal on", zap.Int("rank", w.Rank), zap.Stringer("signal", signal), zap.Error(err))
	}
}

// userSignal handles SIGUSR1, if it does not end the run: a dump, and the signal for those workers that catch it.
func (g *group) userSignal() {
	for _, w := range g.workers {
		if s, err := procfs.Signal(w.PID, syscall.SIGUSR1); err == nil && s.Caught {
			g.passOnTo(w, syscall.SIGUSR1)
		}
	}
	g.dump(DumpRequest{Reason: "gpurun received SIGUSR1"})
}
