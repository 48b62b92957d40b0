package worker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous"
	"gpurun/worker/process/report"
	"gpurun/worker/workload"
)

// stuckRank is a rank that tells what it was aborted with.
func stuckRank(ctx context.Context, limit time.Duration) (*rank, <-chan error) {
	aborted := make(chan error, 1)
	r := &rank{doing: "testing", Options: Options{
		Job:     workload.Job{Timeout: limit - waitSlack},
		Reports: report.NewWriter(nopCloser{&bytes.Buffer{}}),
		Abort: func(err error) {
			select {
			case aborted <- err:
			default: // it was aborted before
			}
		},
	}}
	r.startWatchdog(ctx)
	return r, aborted
}

// A rank that is stuck in a library says so and ends its process.
func TestStuckLibraryIsAborted(t *testing.T) {
	r, aborted := stuckRank(t.Context(), 20*time.Millisecond)
	err := r.supervised("joining", func() error {
		err := <-aborted
		var s *StuckError
		if !errors.As(err, &s) || Explain(err).Class != report.Timeout || !strings.HasPrefix(err.Error(), "joining did not end within 20ms") {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, r.close()); err != nil {
		t.Error(err)
	}
}

// A call that cleans up and is stuck does not hide what failed before it.
func TestStuckCleaningKeepsTheCause(t *testing.T) {
	r, aborted := stuckRank(t.Context(), 4*time.Millisecond)
	r.failure.set(&LibraryError{"NCCL", errors.New("no memory")})
	err := r.supervised("aborting NCCL", func() error {
		if err := <-aborted; !errors.Is(err, r.failure.get()) {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, r.close()); err != nil {
		t.Error(err)
	}
}

// A peer that is gone ends the wait for it.
func TestCallIsAbortedWhenAPeerIsGone(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	r, aborted := stuckRank(ctx, time.Hour)
	err := r.supervised("joining", func() error {
		lose(&rendezvous.PeerLeft{Rank: 1})
		var left *rendezvous.PeerLeft
		if err := <-aborted; !errors.As(err, &left) {
			t.Errorf("aborted with %v", err)
		}
		return nil
	})
	if err := errors.Join(err, r.close()); err != nil {
		t.Error(err)
	}
}

// Once a peer is gone no call begins that would wait for it, but one that cleans up.
func TestNoCallBeginsWhenAPeerIsGone(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	r, _ := stuckRank(ctx, time.Hour)
	lose(&rendezvous.PeerLeft{Rank: 1})
	err := r.supervised("joining", func() error {
		t.Error("the call began")
		return nil
	})
	if left := new(rendezvous.PeerLeft); !errors.As(err, &left) || r.watchdog.calling() != "" {
		t.Errorf("%v, and calling %q", err, r.watchdog.calling())
	}
	r.failure.set(err)
	cleaned := false
	err = r.supervised("aborting", func() error {
		cleaned = true
		return nil
	})
	if err := errors.Join(err, r.close()); err != nil || !cleaned {
		t.Errorf("cleaned %t, %v", cleaned, err)
	}
}

// Nobody is aborted who makes no call, however long ago the last one was.
func TestIdleRankIsNotAborted(t *testing.T) {
	w := &watchdog{limit: time.Nanosecond}
	w.note("joining")
	time.Sleep(time.Microsecond) // the time that is too long
	if got := w.overdue(); got != "joining" || w.calling() != got {
		t.Errorf("%q is overdue, %q is being called", got, w.calling())
	}
	w.end()
	if got := w.overdue(); got != "" || w.calling() != "" {
		t.Errorf("%q is overdue, %q is being called", got, w.calling())
	}
	w.limit = time.Hour
	w.note("leaving")
	if got := w.overdue(); got != "" {
		t.Errorf("%q is overdue", got)
	}
}
