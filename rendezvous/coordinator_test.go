package rendezvous

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/membership"
)

// A caller that gives up does not leave the others to wait for it.
func TestCanceledCallFailsTheOthers(t *testing.T) {
	state, err := membership.New(membership.Config{WorldSize: 3, JoinTimeout: time.Hour, HeartbeatTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c := newCoordinator(state, zap.NewNop())
	sessions := make([]*session, 3)
	for rank := range sessions {
		sessions[rank] = c.join(membership.Member{Rank: rank}, 0)
	}
	barrier := membership.Arrival{Op: membership.Barrier, Name: "ready", Timeout: time.Hour}
	patient, impatient := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := c.exchange(context.Background(), sessions[0].id, barrier)
		patient <- err
	}()
	go func() {
		_, err := c.exchange(ctx, sessions[1].id, barrier)
		impatient <- err
	}()
	waitForCalls(t, c, 2)
	cancel()
	if err := <-impatient; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up: %v", err)
	}
	select {
	case err := <-patient:
		if !errors.Is(err, ErrAbandoned) {
			t.Errorf("the other: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the other still waits")
	}
}

// waitForCalls returns when n calls wait for others.
func waitForCalls(t *testing.T, c *coordinator, n int) {
	t.Helper()
	for range 1000 {
		c.mu.Lock()
		waiting := len(c.calls)
		c.mu.Unlock()
		if waiting == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d calls have not come", n)
}
