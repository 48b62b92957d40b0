package rank

import (
	"testing"
	"time"
)

// An hour in which the process was stopped does not count.
func TestStoppedTimeDoesNotCount(t *testing.T) {
	begun := time.Now()
	s := supervision{looked: begun}
	s.count(begun.Add(time.Second))
	s.count(begun.Add(time.Hour))
	s.count(begun.Add(time.Hour + time.Second))
	if want := 2*time.Second + mostBetween; s.waited != want {
		t.Errorf("the work has waited for %v, want %v", s.waited, want)
	}
	if s.proceeded(begun.Add(time.Hour + time.Second)); s.waited != 0 {
		t.Errorf("the work has waited for %v", s.waited)
	}
}
