package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A context of a clock and those made of it end when the clock says: an hour in which the process was stopped does not
// count.
func TestTimeoutsDoNotCountStoppedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		running, end := context.WithCancel(t.Context())
		defer end()
		go c.Run(running, func() (time.Duration, bool) { return 0, false }, nil)
		synctest.Wait()
		ctx, cancel := c.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		child, cancelChild := context.WithTimeout(ctx, time.Hour)
		defer cancelChild()
		begun := time.Now()
		c.mu.Lock()
		c.start = c.start.Add(-time.Hour)
		c.mu.Unlock()
		if deadline, ok := child.Deadline(); !ok || time.Until(deadline) < 10*time.Second-mostBetween {
			t.Errorf("%v is left", time.Until(deadline))
		}
		<-child.Done()
		if took := time.Since(begun); took < 10*time.Second-mostBetween || took > 10*time.Second {
			t.Errorf("ended after %v", took)
		}
		for _, ctx := range []context.Context{ctx, child} {
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
			}
		}
	})
}

func TestTimeoutsEndWithTheirParent(t *testing.T) {
	parent, end := context.WithCancelCause(t.Context())
	ctx, cancel := New().WithTimeout(parent, time.Hour)
	defer cancel()
	reason := errors.New("reason")
	end(reason)
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), reason) {
		t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
	}
}
