package library

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous"
	"gpurun/worker/process/report"
	"gpurun/worker/status"
)

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// supervisedSet is a set with a watchdog, and the error that it is aborted with.
func supervisedSet(ctx context.Context, limit time.Duration) (*Set, <-chan error) {
	aborted := make(chan error, 1)
	s := New(Options{
		Status: status.New(report.NewWriter(nopCloser{&bytes.Buffer{}}), nil),
		Abort: func(err error) {
			select {
			case aborted <- err:
			default: // it was aborted before
			}
		},
	})
	_ = s.options.Status.Announce("testing") // to a buffer
	s.startWatchdog(ctx, limit)
	return s, aborted
}

// A rank that hangs in a library call reports that and ends its process.
func TestStuckLibraryIsAborted(t *testing.T) {
	set, aborted := supervisedSet(t.Context(), 20*time.Millisecond)
	err := set.supervise("joining", func() error {
		err := <-aborted
		var s *StuckError
		if !errors.As(err, &s) || !strings.HasPrefix(err.Error(), "joining did not end within 20ms") {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, set.Close()); err != nil {
		t.Error(err)
	}
}

// A call that cleans up and is stuck does not hide what failed before it.
func TestStuckCleaningKeepsTheCause(t *testing.T) {
	set, aborted := supervisedSet(t.Context(), 4*time.Millisecond)
	set.Fail(&Error{"NCCL", errors.New("no memory")})
	err := set.supervise("aborting NCCL", func() error {
		if err := <-aborted; !errors.Is(err, set.failure.get()) {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, set.Close()); err != nil {
		t.Error(err)
	}
}

// A peer that is gone ends the wait for it.
func TestCallIsAbortedWhenAPeerIsGone(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	set, aborted := supervisedSet(ctx, time.Hour)
	err := set.supervise("joining", func() error {
		lose(&rendezvous.PeerLeft{Rank: 1})
		var left *rendezvous.PeerLeft
		if err := <-aborted; !errors.As(err, &left) {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, set.Close()); err != nil {
		t.Error(err)
	}
}

// Once a peer is gone no call begins that would wait for it, but one that cleans up.
func TestNoCallBeginsWhenAPeerIsGone(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	set, _ := supervisedSet(ctx, time.Hour)
	lose(&rendezvous.PeerLeft{Rank: 1})
	err := set.supervise("joining", func() error {
		t.Error("the call began")
		return nil
	})
	if left := new(rendezvous.PeerLeft); !errors.As(err, &left) || set.watchdog.current() != "" {
		t.Errorf("%v, and the call %q", err, set.watchdog.current())
	}
	set.Fail(err)
	cleaned := false
	err = set.supervise("aborting", func() error {
		cleaned = true
		return nil
	})
	if err := errors.Join(err, set.Close()); err != nil || !cleaned {
		t.Errorf("cleaned %t, %v", cleaned, err)
	}
}

// A rank outside of a library call is not aborted, however long ago its last call was.
func TestIdleRankIsNotAborted(t *testing.T) {
	w := &watchdog{limit: time.Nanosecond}
	w.note("joining")
	time.Sleep(time.Microsecond) // the time that is too long
	if got := w.overdue(); got != "joining" || w.current() != got {
		t.Errorf("%q is overdue, %q is the current call", got, w.current())
	}
	w.end()
	if got := w.overdue(); got != "" || w.current() != "" {
		t.Errorf("%q is overdue, %q is the current call", got, w.current())
	}
	w.limit = time.Hour
	w.note("leaving")
	if got := w.overdue(); got != "" {
		t.Errorf("%q is overdue", got)
	}
}
