package status

import (
	"sync"
	"time"
)

// Steps says in which step a rank is that may take long, such as a wait for peers. It is safe for concurrent use. A nil
// Steps notes nothing.
type Steps struct {
	mu    sync.Mutex
	name  string
	since time.Time
}

// Enter notes that a step begins. The function that it returns notes its end: the rank is then in the step before. A
// step within a step of the same name is the same one.
func (s *Steps) Enter(name string) (leave func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, since := s.name, s.since
	if name == before {
		return func() {}
	}
	s.name, s.since = name, time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.name, s.since = before, since
	}
}

// Now returns the step and when it began. The name is empty between steps.
func (s *Steps) Now() (name string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name, s.since
}
