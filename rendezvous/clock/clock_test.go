package clock

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// alarms is a state machine with nothing but deadlines.
type alarms struct {
	mu      sync.Mutex
	due     []time.Duration // in order
	expired []time.Duration
}

func (a *alarms) set(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = append(a.due, at)
	slices.Sort(a.due)
}

func (a *alarms) next() (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.due) == 0 {
		return 0, false
	}
	return a.due[0], true
}

func (a *alarms) expire(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.due) > 0 && a.due[0] <= now {
		a.due, a.expired = a.due[1:], append(a.expired, now)
	}
}

// A deadline expires at its time, also one that comes up while Run waits for a later one, or
// for none.
func TestDeadlinesExpireOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := New(), &alarms{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx, a.next, func() { a.expire(c.Now()) })
		}()
		set := func(at time.Duration) {
			a.set(at)
			c.Changed()
			c.Changed() // which is once too often, and waits for nobody
			synctest.Wait()
		}
		synctest.Wait() // for nothing, as yet
		set(30 * time.Second)
		set(10 * time.Second)
		time.Sleep(20 * time.Second)
		set(20*time.Second + time.Millisecond)
		set(5 * time.Hour)
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		want := []time.Duration{10 * time.Second, 20*time.Second + time.Millisecond, 30 * time.Second, 5 * time.Hour}
		a.mu.Lock()
		if !slices.Equal(a.expired, want) {
			t.Errorf("expired at %v, want %v", a.expired, want)
		}
		a.mu.Unlock()
		cancel()
		<-ended
	})
}

// An hour in which the process was stopped does not count.
func TestStoppedTimeDoesNotCount(t *testing.T) {
	c := New()
	c.run(true)
	before := c.Now()
	c.start = c.start.Add(-time.Hour)
	if passed := c.Now() - before; passed < mostBetween || passed > time.Minute {
		t.Errorf("%v have passed", passed)
	}
}
