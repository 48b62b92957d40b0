package signals

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatch(t *testing.T) {
	const timeout = 20 * time.Second
	ctx, signals, stop := Catch(t.Context())
	defer stop()
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-signals:
			if got != s {
				t.Errorf("got %v, want %v", got, s)
			}
		case <-time.After(timeout):
			t.Fatalf("%v was not caught", s)
		}
		if ended := ctx.Err() != nil; ended != (s == syscall.SIGTERM) {
			t.Errorf("after %v the context has ended: %v", s, ended)
		}
	}
	var received Received
	if !errors.As(context.Cause(ctx), &received) || received.Error() != "received SIGTERM" {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

func TestName(t *testing.T) {
	for s, want := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", 35: "signal 35"} {
		if got := Name(s); got != want {
			t.Errorf("%d: %s, want %s", int(s), got, want)
		}
	}
}
