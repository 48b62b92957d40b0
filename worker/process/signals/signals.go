// Package signals catches the signals that gpurun passes on, and names them.
package signals

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Received is the cause of a context's end when a signal ended it.
type Received struct{ Signal syscall.Signal }

// Error reads "received SIGTERM".
func (r Received) Error() string { return "received " + Name(r.Signal) }

// Name returns a name such as "SIGKILL", or "signal 35".
func Name(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// Ending returns the signals that ask a program to end.
func Ending() []syscall.Signal {
	return []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
}

// Ends reports whether a signal asks gpurun to end.
func Ends(s syscall.Signal) bool { return slices.Contains(Ending(), s) }

// Catch catches the signals of Ending, SIGUSR1 and SIGUSR2 from now on. The context
// ends, with cause Received, on the first signal of Ending. The channel receives every
// signal, that one included. SIGINT and SIGHUP stay ignored when they are, as under
// nohup. The function undoes it all.
func Catch(parent context.Context) (context.Context, <-chan os.Signal, func()) {
	const backlog = 16
	caught := make(chan os.Signal, backlog)
	for _, s := range append(Ending(), syscall.SIGUSR1, syscall.SIGUSR2) {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	passed := make(chan os.Signal, backlog)
	quit := make(chan struct{})
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			select {
			case <-quit:
				return
			case s := <-caught:
				if number, ok := s.(syscall.Signal); ok && Ends(number) {
					cancel(Received{number})
				}
				select {
				case passed <- s:
				default: // the channel is full (16 signals) and not received from
				}
			}
		}
	})
	return ctx, passed, func() {
		signal.Stop(caught)
		close(quit)
		forwarding.Wait()
		cancel(context.Canceled)
	}
}
