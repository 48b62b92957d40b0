package worker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gpurun/cudart"
	"gpurun/worker/report"
)

var errBroken = errors.New("broken")

// slowStream takes the next stamp at every wait but does not get to the end;
// after so many waits it fails.
type slowStream struct {
	cudart.Stream
	stamps stamps
	waits  int
}

func (s *slowStream) Synchronize(ctx context.Context) error {
	if s.waits--; s.waits == 0 {
		return errBroken
	}
	for _, e := range s.stamps {
		if stamp := e.(*stamp); !stamp.taken {
			stamp.taken = true
			break
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

type stamp struct {
	cudart.Event
	taken bool
}

func (s *stamp) Since(cudart.Event) (time.Duration, error) {
	if !s.taken {
		return 0, cudart.ErrNotReady
	}
	return time.Second, nil
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// A worker is heard of while the stream gets from stamp to stamp, and not when
// it is stuck.
func TestTimingReportsThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		all := stamps{&stamp{}, &stamp{}, &stamp{}}
		r := &rank{Options: Options{Reports: report.NewWriter(nopCloser{&out})}, stream: &slowStream{stamps: all, waits: 10}}
		if err := r.phase("timing"); err != nil {
			t.Fatal(err)
		}
		if err := r.finish(context.Background(), all); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if got, want := strings.Count(out.String(), "timing"), 1+len(all); got != want {
			t.Errorf("the phase was reported %d times, want %d", got, want)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBroken)
		r.stream = &slowStream{stamps: all, waits: 10}
		if err := r.finish(ctx, all); !errors.Is(err, errBroken) {
			t.Errorf("the cause of the end became %v", err)
		}
	})
}
