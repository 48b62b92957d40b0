package agent

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// Signalled is the cause of a context's end when a signal ended it.
type Signalled struct{ Signal syscall.Signal }

// Error reads "received SIGTERM".
func (s Signalled) Error() string { return "received " + SignalName(s.Signal) }

// endingSignals are the signals that ask a program to end.
func endingSignals() []syscall.Signal {
	return []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
}

// endsRun reports whether a signal asks gpurun to end.
func endsRun(s syscall.Signal) bool { return slices.Contains(endingSignals(), s) }

// Catch catches SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 from now
// on. The context ends, with cause Signalled, on the first of the first four.
// The channel receives every signal, that one included; it is for
// Spec.Signals or for Guard. SIGINT and SIGHUP stay ignored when they are, as
// under nohup. The function undoes it all.
func Catch(parent context.Context) (context.Context, <-chan os.Signal, func()) {
	const backlog = 16
	caught := make(chan os.Signal, backlog)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, backlog)
	quit := make(chan struct{})
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			select {
			case <-quit:
				return
			case s := <-caught:
				if number, ok := s.(syscall.Signal); ok && endsRun(number) {
					cancel(Signalled{number})
				}
				select {
				case signals <- s:
				default: // nobody listens, and sixteen signals have said it
				}
			}
		}
	})
	return ctx, signals, func() {
		signal.Stop(caught)
		close(quit)
		forwarding.Wait()
		cancel(context.Canceled)
	}
}
