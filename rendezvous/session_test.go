package rendezvous

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A process that dies between opening its session and joining is not waited
// for, though no goroutine passes its end on.
func TestNoFirstMessageOfTheDead(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	death := errors.New("dead")
	cancel(death)
	answer := make(chan error, 1)
	go func() {
		_, err := firstMessage(ctx, make(chan message))
		answer <- err
	}()
	select {
	case err := <-answer:
		if !errors.Is(err, death) {
			t.Errorf("got %v", err)
		}
	case <-time.After(firstMessageTimeout / 2):
		t.Error("it is waited for")
	}
}
