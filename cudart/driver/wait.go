package driver

import (
	"context"
	"errors"
	"time"

	"gpurun/cudart"
)

// Synchronize polls, since a blocking wait of the driver would not hear of
// ctx: without pause at first, because small kernels end within microseconds,
// then with pauses that double.
const (
	spinTime   = 50 * time.Microsecond
	firstPause = 20 * time.Microsecond
	maxPause   = time.Millisecond
)

// Synchronize waits for all enqueued work.
func (s *stream) Synchronize(ctx context.Context) error {
	if s.capture != nil {
		return s.captureForbids("cuStreamQuery")
	}
	start := time.Now()
	for pause := firstPause; ; {
		err := s.query()
		if !errors.Is(err, cudart.ErrNotReady) {
			return err
		}
		if time.Since(start) < spinTime {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
}

// query asks whether the stream is idle. Not ready is a bare code, since it is
// asked for often.
func (s *stream) query() error {
	args := s.dev.launch.args[:1]
	args[0] = s.handle
	code := s.dev.api.streamQuery.Call(args...)
	if cudart.Result(code) == cudart.ErrNotReady {
		return cudart.ErrNotReady
	}
	return s.dev.api.check(s.dev.api.streamQuery, code)
}

func (s *stream) captureForbids(op string) error {
	return &cudart.Error{
		Op: op, Code: cudart.ErrCaptureForbidden,
		Detail: "the stream is being captured, and captured work cannot be waited for",
	}
}
