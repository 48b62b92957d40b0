package sim

import (
	"testing"
	"time"
)

// An hour in which the process was stopped does not count.
func TestStoppedTimeDoesNotCount(t *testing.T) {
	c := newAwakeClock()
	before := c.nanoseconds()
	c.start = c.start.Add(-time.Hour)
	if passed := time.Duration(c.nanoseconds() - before); passed < mostBetween || passed > time.Minute {
		t.Errorf("%v have passed", passed)
	}
}
