package mutants

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/kernels/checktask"
)

// subject is a kernel, and the calls by which its mutants are judged.
type subject struct {
	name          string
	world         int
	module, entry string
	text          []byte
	// calls are those with another text of the module.
	calls func(text []byte) (*checktask.Calls, error)

	mu      sync.Mutex
	steps   int             // of the original under the first schedule
	reached map[string]bool // by the text with a trap, as far as known
	pending string          // what the checker does not model of the original, or why it cannot run
}

// attempt runs the calls with some text of the module once. The error is that of the ranks.
func (s *subject) attempt(c *check.Checker, text []byte, seed uint64) (*check.Report, error) {
	calls, err := s.calls(text)
	if err != nil {
		return &check.Report{}, err
	}
	return c.Run(seed, calls.Task)
}

// checker is one for a text of the module: mutants that wait for ever end after some times the original's steps.
func (s *subject) checker() (*check.Checker, error) {
	return check.New(check.Config{Ranks: s.world, Steps: 3*s.steps + 4096})
}

// try runs the original, which must be free of findings. It notes what is not modeled.
func (s *subject) try() error {
	c, err := check.New(check.Config{Ranks: s.world})
	if err != nil {
		return err
	}
	r, err := s.attempt(c, s.text, 0)
	switch {
	case err != nil && (strings.Contains(err.Error(), "does not model") || strings.Contains(err.Error(), "no multicast")):
		s.pending = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("%s, %s: %w", s.name, s.entry, err)
	case len(r.Findings) > 0:
		return fmt.Errorf("%s, %s: %w: %v", s.name, s.entry, errors.New("the original has a finding"), r.Findings[0])
	}
	s.steps, s.pending = r.Steps, strings.Join(r.Incomplete, "; ")
	return nil
}

// reaches reports whether a run of the original gets to the line of a mistake, in the threads that it concerns.
func (s *subject) reaches(m *mutate.Mutant) (bool, error) {
	text := m.Trap(s.text)
	s.mu.Lock()
	at, ok := s.reached[string(text)]
	s.mu.Unlock()
	if ok {
		return at, nil
	}
	checker, err := s.checker()
	if err != nil {
		return false, err
	}
	_, err = s.attempt(checker, text, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = maps.Clone(s.reached)
	if s.reached == nil {
		s.reached = map[string]bool{}
	}
	s.reached[string(text)] = err != nil
	return err != nil, nil
}
